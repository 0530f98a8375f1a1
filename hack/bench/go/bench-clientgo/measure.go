package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run is the measures of one run, printed as one line of JSON.
type run struct {
	Peer     string             `json:"peer"`
	Work     string             `json:"work"`
	Measures map[string]float64 `json:"measures"`
}

func newRun(work string) *run {
	return &run{Peer: "client-go", Work: work, Measures: map[string]float64{}}
}

func (r *run) print() error {
	return json.NewEncoder(os.Stdout).Encode(r)
}

// memory gives the memory of this process in megabytes: now, and at its highest.
func memory() (float64, float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	field := func(name string) (float64, error) {
		for line := range strings.Lines(string(status)) {
			if rest, found := strings.CutPrefix(line, name); found {
				kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				return kilobytes / 1024, err
			}
		}
		return 0, fmt.Errorf("the status has no %s", name)
	}
	now, err := field("VmRSS:")
	if err != nil {
		return 0, 0, err
	}
	highest, err := field("VmHWM:")
	return now, highest, err
}

// cpu gives the processor time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
