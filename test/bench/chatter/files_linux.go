package chatter

import (
	"fmt"
	"syscall"
)

// needFiles has this process, and those it starts, open that many files. A
// machine that does not let it says so in the error.
func needFiles(n uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	if l.Cur >= n {
		return nil
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: max(l.Max, n)}); err != nil {
		return fmt.Errorf("%d open files are needed, ulimit -Hn is %d: %w: %w", n, l.Max, errRefused, err)
	}
	return nil
}
