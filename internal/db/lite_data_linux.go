package db

import (
	"errors"
	"os"
	"syscall"
)

// syncData syncs the bytes of f and its length. It leaves out the file's times:
// syncing them as well doubles the work if the length does not change.
func syncData(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sync error
	err = c.Control(func(fd uintptr) {
		for {
			if sync = syscall.Fdatasync(int(fd)); !errors.Is(sync, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, sync)
}
