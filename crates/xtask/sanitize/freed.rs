//! A read of memory that was given back, for AddressSanitizer and valgrind to find: a checker that finds nothing here
//! finds nothing anywhere.

fn main() {
    let place = Box::into_raw(Box::new(std::hint::black_box(7_u64)));
    // SAFETY: `place` comes from a box, and is given back once.
    drop(unsafe { Box::from_raw(place) });
    // SAFETY: none. That is what the program is for.
    if std::hint::black_box(unsafe { place.read_volatile() }) == 8 {
        println!("eight");
    }
}
