//go:build !linux && !darwin

package ops

import "github.com/hearth-dmrv/hearth/api"

// DiskOf is the space on the disk of a folder; nil when unknown.
func DiskOf(string) *api.Disk { return nil }
