//go:build linux || darwin

package ops

import (
	"syscall"

	"github.com/hearth-dmrv/hearth/api"
)

// DiskOf is the space on the disk of a folder; nil when unknown.
func DiskOf(dir string) *api.Disk {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return nil
	}
	size := int64(s.Bsize) //nolint:unconvert // another type on darwin
	return &api.Disk{FreeBytes: int64(s.Bavail) * size, TotalBytes: int64(s.Blocks) * size}
}
