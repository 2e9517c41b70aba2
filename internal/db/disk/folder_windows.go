package disk

// SyncFolder does nothing: Windows has no such call, NTFS journals names.
func SyncFolder(string) error { return nil }
