package dbtest

import "syscall"

// ramDisk is where Linux keeps a file system in memory.
const ramDisk = "/dev/shm"

// ramRoom is how much must be free there. All tests at once need a tenth of it,
// and where memory is so scarce that there is less, it is for the programs.
const ramRoom = 4 << 30

// folderOfClusters is the parent of the folders of clusters. A database is a
// thousand small files, and one is made and dropped for every test: on a disk
// that takes more time than the tests themselves. "" is the usual place.
func folderOfClusters() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(ramDisk, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < ramRoom {
		return ""
	}
	return ramDisk
}
