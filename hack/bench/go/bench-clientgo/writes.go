package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// sentLabel has the time at which the writer sent the write, in nanoseconds since 1970.
	sentLabel = "sent"

	writesPerSecond = 50
	patience        = 30 * time.Second
)

// latencies is how long writes took to reach the handler.
type latencies struct {
	lock sync.Mutex
	all  []time.Duration
}

func (l *latencies) heard(sent string) {
	now := time.Now().UnixNano()
	if then, err := strconv.ParseInt(sent, 10, 64); err == nil {
		l.lock.Lock()
		l.all = append(l.all, time.Duration(now-then))
		l.lock.Unlock()
	}
}

func (l *latencies) count() int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return len(l.all)
}

// measure starts the program that writes, and waits until the handler has heard of every write.
func (l *latencies) measure(run *run, writer, kubeconfig, shape string, objects, writes int) (int, error) {
	command := exec.Command(writer, "write", "--shape", shape, "--objects", strconv.Itoa(objects),
		"--writes", strconv.Itoa(writes), "--kubeconfig", kubeconfig)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return 0, err
	}
	begin, limit := time.Now(), time.Duration(writes)*time.Second/writesPerSecond+patience
	for l.count() < writes && time.Since(begin) < limit {
		time.Sleep(20 * time.Millisecond)
	}
	l.lock.Lock()
	all := slices.Sorted(slices.Values(l.all))
	l.lock.Unlock()
	if last := len(all) - 1; last >= 0 {
		at := func(hundredths int) float64 { return all[last*hundredths/100].Seconds() * 1e3 }
		run.Measures["write to handler ms, median"] = at(50)
		run.Measures["write to handler ms, 90 %"] = at(90)
		run.Measures["write to handler ms, 99 %"] = at(99)
	}
	return len(all), command.Wait()
}
