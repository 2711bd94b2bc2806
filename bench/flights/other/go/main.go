// The tests of the bench that Go's singleflight can take part in: one test of one process, its figures as JSON.
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run main.go TEST full|smoke
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

type figures map[string]float64

func main() {
	if len(os.Args) != 3 {
		fail("usage: main TEST full|smoke")
	}
	full := os.Args[2] == "full"
	tests := map[string]func(bool) figures{"lone": lone, "join": join, "contend": contend, "keep": keep}
	test, known := tests[os.Args[1]]
	if !known {
		fail("there is no test " + os.Args[1])
	}
	if err := json.NewEncoder(os.Stdout).Encode(test(full)); err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

func pick(full bool, large, small int) int {
	if full {
		return large
	}
	return small
}

func median(times []float64) float64 {
	sort.Float64s(times)
	return times[(len(times)-1)/2]
}

// The keys, made beforehand: Go's keys are strings.
func names(count int) []string {
	names := make([]string, count)
	for at := range names {
		names[at] = strconv.Itoa(at)
	}
	return names
}

// A call that nobody joins.
func lone(full bool) figures {
	rounds, each := pick(full, 40, 2), pick(full, 10000, 500)
	keys := names(rounds * each)
	var group singleflight.Group
	var before, after runtime.MemStats
	times := make([]float64, 0, rounds)
	runtime.ReadMemStats(&before)
	for round := 0; round < rounds; round++ {
		began := time.Now()
		for at := round * each; at < (round+1)*each; at++ {
			at := at
			answer, err, _ := group.Do(keys[at], func() (interface{}, error) { return uint64(at), nil })
			if err != nil || answer.(uint64) != uint64(at) {
				fail("a wrong answer")
			}
		}
		times = append(times, float64(time.Since(began).Nanoseconds())/float64(each))
	}
	runtime.ReadMemStats(&after)
	calls := float64(rounds * each)
	return figures{
		"ns":          median(times),
		"allocations": float64(after.Mallocs-before.Mallocs) / calls,
		"bytes":       float64(after.TotalAlloc-before.TotalAlloc) / calls,
	}
}

// 1,000 callers join one flight, and all get the answer: by channels, so that no goroutine is counted for a caller.
func join(full bool) figures {
	const callers = 1000
	rounds := pick(full, 200, 2)
	keys := names(rounds)
	var group singleflight.Group
	joins, resolves := []float64{}, []float64{}
	waiting := make([]<-chan singleflight.Result, callers)
	for round := 0; round < rounds; round++ {
		gate := make(chan struct{})
		work := func() (interface{}, error) { <-gate; return uint64(round), nil }
		leader := group.DoChan(keys[round], work)
		began := time.Now()
		for at := range waiting {
			waiting[at] = group.DoChan(keys[round], work)
		}
		joins = append(joins, float64(time.Since(began).Nanoseconds())/callers)
		began = time.Now()
		close(gate)
		for _, answer := range append(waiting, leader) {
			if result := <-answer; result.Val.(uint64) != uint64(round) {
				fail("a wrong answer")
			}
		}
		resolves = append(resolves, float64(time.Since(began).Nanoseconds())/callers)
	}
	return figures{"join ns": median(joins), "resolve ns": median(resolves), "ns": median(joins) + median(resolves)}
}

// Two threads, 64 goroutines, 64 keys of which a few come far more often than most; the work yields once.
func contend(full bool) figures {
	const tasks, distinct = 64, 64
	runtime.GOMAXPROCS(2)
	keys := names(distinct)
	var group singleflight.Group
	var over int32
	var calls uint64
	var all sync.WaitGroup
	began := time.Now()
	for task := 0; task < tasks; task++ {
		picks := picks(int64(task), distinct)
		all.Add(1)
		go func() {
			defer all.Done()
			done := 0
			for atomic.LoadInt32(&over) == 0 {
				at := picks[done%len(picks)]
				answer, _, _ := group.Do(keys[at], func() (interface{}, error) { runtime.Gosched(); return at, nil })
				if answer.(int) != at {
					fail("a wrong answer")
				}
				done++
			}
			atomic.AddUint64(&calls, uint64(done))
		}()
	}
	time.Sleep(time.Duration(pick(full, 1000, 20)) * time.Millisecond)
	atomic.StoreInt32(&over, 1)
	all.Wait()
	return figures{"calls a second": float64(calls) / time.Since(began).Seconds()}
}

func picks(seed int64, distinct int) []int {
	random := rand.New(rand.NewSource(seed))
	sum := 0.0
	for rank := 1; rank <= distinct; rank++ {
		sum += 1 / float64(rank)
	}
	picks := make([]int, 4096)
	for at := range picks {
		left := random.Float64() * sum
		for rank := 1; rank <= distinct; rank++ {
			if left -= 1 / float64(rank); left < 0 {
				picks[at] = rank - 1
				break
			}
		}
	}
	return picks
}

// What a key costs in flight, the goroutine that runs its work among it.
func keep(full bool) figures {
	count := pick(full, 200000, 2000)
	keys := names(count)
	var group singleflight.Group
	gate := make(chan struct{})
	waiting := make([]<-chan singleflight.Result, count)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for at := range waiting {
		waiting[at] = group.DoChan(keys[at], func() (interface{}, error) { <-gate; return nil, nil })
	}
	time.Sleep(100 * time.Millisecond)
	runtime.GC()
	runtime.ReadMemStats(&after)
	close(gate)
	for _, answer := range waiting {
		<-answer
	}
	used := func(stats *runtime.MemStats) float64 { return float64(stats.HeapAlloc + stats.StackInuse) }
	return figures{"keys": float64(count), "heap bytes": (used(&after) - used(&before)) / float64(count)}
}
