package main

import (
	"flag"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	atOnce       = 100
	longestDelay = 500 * time.Millisecond
)

// queueWork puts keys through the work queue.
func queueWork(args []string) error {
	flags := flag.NewFlagSet("queue", flag.ExitOnError)
	keys := flags.Int("keys", 1_000_000, "how many keys each measure puts through the queue")
	tasks := flags.Int("tasks", 4, "how many producers and how many workers contend")
	if err := flags.Parse(args); err != nil {
		return err
	}
	run := newRun("queue")
	run.Measures["100 add/get/done µs"] = alone(*keys)
	run.Measures["contended add/get/done ns"] = contended(*keys, *tasks)
	late, cpu := delayed(*keys / 10)
	run.Measures["delays: last key late ms"] = late
	run.Measures["delays: CPU µs per key"] = cpu
	return run.print()
}

func queueKey(number int) string {
	return fmt.Sprintf("namespace-%03d/object-%07d", number%100, number)
}

func newQueue() workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

// work ends each key as a controller does whose reconciliation succeeded.
func work(queue workqueue.TypedRateLimitingInterface[string], keys int) {
	for range keys {
		key, _ := queue.Get()
		queue.Forget(key)
		queue.Done(key)
	}
}

func alone(keys int) float64 {
	queue := newQueue()
	defer queue.ShutDown()
	names := make([]string, atOnce)
	for number := range names {
		names[number] = queueKey(number)
	}
	rounds := keys / atOnce
	begin := time.Now()
	for range rounds {
		for _, name := range names {
			queue.Add(name)
		}
		work(queue, atOnce)
	}
	return time.Since(begin).Seconds() * 1e6 / float64(rounds)
}

func contended(keys, tasks int) float64 {
	queue := newQueue()
	defer queue.ShutDown()
	share := keys / tasks
	names := make([][]string, tasks)
	for task := range names {
		names[task] = make([]string, share)
		for number := range names[task] {
			names[task][number] = queueKey(task*share + number)
		}
	}
	var group sync.WaitGroup
	begin := time.Now()
	for task := range tasks {
		group.Go(func() { work(queue, share) })
		group.Go(func() {
			for _, name := range names[task] {
				queue.Add(name)
			}
		})
	}
	group.Wait()
	return time.Since(begin).Seconds() * 1e9 / float64(share*tasks)
}

func delayed(keys int) (float64, float64) {
	queue := newQueue()
	defer queue.ShutDown()
	names := make([]string, keys)
	for number := range names {
		names[number] = queueKey(number)
	}
	var group sync.WaitGroup
	begin, before := time.Now(), cpu()
	group.Go(func() { work(queue, keys) })
	last := time.Duration(0)
	for number, name := range names {
		delay := time.Duration(float64(longestDelay) * float64(number*7919%keys) / float64(keys))
		last = max(last, time.Since(begin)+delay)
		queue.AddAfter(name, delay)
	}
	group.Wait()
	late := max(0, time.Since(begin)-last)
	return late.Seconds() * 1e3, (cpu() - before).Seconds() * 1e6 / float64(keys)
}
