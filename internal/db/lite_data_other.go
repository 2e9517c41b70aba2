//go:build !linux

package db

import "os"

// syncData has the disk keep the bytes of f.
func syncData(f *os.File) error { return f.Sync() }
