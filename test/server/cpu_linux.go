package server

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the processor time that all threads of a process have used. It reads the
// kernel's clock for the process, because /proc counts in steps of 10 ms.
func CPU(pid int) (time.Duration, error) {
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &at); err != nil { // MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(at.Nano()), nil
}
