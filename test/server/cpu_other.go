//go:build !linux

package server

import (
	"errors"
	"time"
)

// CPU is the processor time any process has used. It needs Linux.
func CPU(int) (time.Duration, error) {
	return 0, errors.New("the CPU time of another process is known on Linux alone")
}
