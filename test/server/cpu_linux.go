package server

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the processor time any process has used, all its threads: by the clock that the
// kernel has for it, for what /proc says moves in steps of 10 ms.
func CPU(pid int) (time.Duration, error) {
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &at); err != nil { // MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(at.Nano()), nil
}
