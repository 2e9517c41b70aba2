package chatter

import (
	"fmt"
	"syscall"
)

// needFiles raises the limit of open files to n for this process and its children.
// It returns an error if the machine does not allow that.
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
