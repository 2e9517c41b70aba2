//go:build !linux

package dbtest

// folderOfClusters returns the parent of the clusters' folders: the default one.
func folderOfClusters() string { return "" }
