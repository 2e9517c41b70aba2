package db

import (
	"errors"
	"os"
	"syscall"
)

// syncData has the disk keep the bytes of f and its length. Its times may stay
// behind: keeping them as well doubles the work where the length stays.
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
