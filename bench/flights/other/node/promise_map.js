// The tests of the bench that a map of promises in Node can take part in: one test a process, its figures as JSON.
//
//   node --expose-gc promise_map.js TEST full|smoke
"use strict";

const flights = new Map();

// The idiom: who comes while a promise is there gets that promise.
function run(key, work) {
  const there = flights.get(key);
  if (there !== undefined) return there;
  const promise = work().finally(() => flights.delete(key));
  flights.set(key, promise);
  return promise;
}

const now = () => Number(process.hrtime.bigint());
const median = (times) => times.sort((a, b) => a - b)[Math.floor((times.length - 1) / 2)];
const wrong = () => { throw new Error("a wrong answer"); };

// A call that nobody joins.
async function lone(full) {
  const [rounds, each] = full ? [40, 10000] : [2, 500];
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const began = now();
    for (let at = 0; at < each; at++) {
      const key = round * each + at;
      if (await run(key, async () => key) !== key) wrong();
    }
    times.push((now() - began) / each);
  }
  return { ns: median(times) };
}

// 1,000 callers join one flight, and all get the answer.
async function join(full) {
  const callers = 1000, rounds = full ? 200 : 2;
  const joins = [], resolves = [];
  for (let round = 0; round < rounds; round++) {
    let open, sum = 0, last;
    const gate = new Promise((resolve) => { open = resolve; });
    const work = async () => { await gate; return round; };
    const take = (value) => { sum += value; };
    const leader = run("key", work);
    let began = now();
    for (let at = 0; at < callers; at++) last = run("key", work).then(take);
    joins.push((now() - began) / callers);
    began = now();
    open();
    await last;
    resolves.push((now() - began) / callers);
    await leader;
    if (sum !== callers * round) wrong();
  }
  const [early, late] = [median(joins), median(resolves)];
  return { "join ns": early, "resolve ns": late, ns: early + late };
}

// One thread (there is no second), 64 loops, 64 keys of which a few come far more often than most; the work yields once.
async function contend(full) {
  const weights = Array.from({ length: 64 }, (_, rank) => 1 / (rank + 1));
  const all = weights.reduce((a, b) => a + b);
  const pick = () => {
    let left = Math.random() * all;
    return Math.max(0, weights.findIndex((weight) => (left -= weight) < 0));
  };
  const began = now(), end = began + (full ? 1e9 : 2e7);
  let calls = 0;
  const loop = async (picks) => {
    for (let at = 0; at % 64 !== 0 || now() < end; at++) {
      const key = picks[at % picks.length];
      if (await run(key, async () => { await null; return key; }) !== key) wrong();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: 64 }, () => loop(Array.from({ length: 4096 }, pick))));
  return { "calls a second": calls / ((now() - began) / 1e9) };
}

// What a key costs in flight.
async function keep(full) {
  const keys = full ? 1000000 : 10000;
  const never = () => new Promise(() => {});
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (let key = 0; key < keys; key++) run(key, never);
  globalThis.gc();
  return { keys, "heap bytes": (process.memoryUsage().heapUsed - before) / keys };
}

const tests = { lone, join, contend, keep };
const [, , test, size] = process.argv;
if (!(test in tests)) throw new Error(`there is no test ${test}`);
tests[test](size === "full").then((figures) => console.log(JSON.stringify(figures)));
