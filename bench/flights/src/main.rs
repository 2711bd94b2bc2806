//! x
#![forbid(unsafe_code)]
mod child;
mod floor;
mod slots;
mod subject;
mod work;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let size = child::Size::parse(&args[3]).unwrap();
    let f = child::run(&args[1], &args[2], size);
    println!("{:28} {f:?}", args[2]);
}
