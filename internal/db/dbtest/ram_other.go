//go:build !linux

package dbtest

// folderOfClusters is the parent of the folders of clusters: the usual place.
func folderOfClusters() string { return "" }
