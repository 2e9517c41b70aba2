//go:build !linux && !darwin

package ops

import "github.com/hearth-dmrv/hearth/api"

// DiskOf is the room on the disk of a folder; nil when the system does not say.
func DiskOf(string) *api.Disk { return nil }
