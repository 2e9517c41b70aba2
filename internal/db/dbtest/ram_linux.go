package dbtest

import "syscall"

// ramDisk is where Linux keeps a file system in memory.
const ramDisk = "/dev/shm"

// ramRoom is how much must be free there. All tests at once need a tenth of it; if
// less is free, the programs need the memory more.
const ramRoom = 4 << 30

// folderOfClusters returns the parent of the clusters' folders. A database is a
// thousand small files, and every test creates and drops one: on a disk that
// takes longer than the tests themselves. "" is the default temporary folder.
func folderOfClusters() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(ramDisk, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < ramRoom {
		return ""
	}
	return ramDisk
}
