package main

import (
	"path"
	"sync"
)

// disk holds the files as programs see them and the part that would survive a
// power cut. It loses as much as POSIX allows: a file's data survives only after
// a sync of the file, a name only after a sync of its folder.
type disk struct {
	mu      sync.Mutex
	stable  map[string]*file // path → file or folder that survives
	pending []nameOp         // changes of names that are not synced

	fileSyncs, dirSyncs, forgotten int
}

// file is a file or a folder.
type file struct {
	mode   uint32
	folder bool
	live   []byte // what programs read
	stable []byte // what survives
	dirty  map[int64]bool
	shrunk int64 // smallest size since the last sync, -1 when it only grew
}

// nameOp is a change of names in one or two folders.
type nameOp struct {
	folders []string
	apply   func(names map[string]*file)
}

// page is the unit in which data reaches the disk.
const page = 4096

func newDisk() *disk { return &disk{stable: map[string]*file{}} }

func newFile(mode uint32, folder bool) *file {
	return &file{mode: mode, folder: folder, dirty: map[int64]bool{}, shrunk: -1}
}

// write changes the live content.
func (f *file) write(data []byte, off int64) {
	end := off + int64(len(data))
	if grow := end - int64(len(f.live)); grow > 0 {
		f.live = append(f.live, make([]byte, grow)...)
	}
	copy(f.live[off:], data)
	for p := off / page; p*page < end; p++ {
		f.dirty[p] = true
	}
}

// truncate sets the size.
func (f *file) truncate(size int64) {
	if size < int64(len(f.live)) {
		f.live = f.live[:size:size]
		if f.shrunk < 0 || size < f.shrunk {
			f.shrunk = size
		}
		return
	}
	for p := int64(len(f.live)) / page; p*page < size; p++ {
		f.dirty[p] = true
	}
	f.live = append(f.live, make([]byte, size-int64(len(f.live)))...)
}

// sync makes the content survive.
func (f *file) sync() {
	f.keep(func() bool { return true })
	f.stable = resize(f.stable, int64(len(f.live)))
}

// keep lets each page that was not synced survive if luck returns true.
func (f *file) keep(luck func() bool) {
	if f.shrunk >= 0 && luck() && f.shrunk < int64(len(f.stable)) {
		f.stable = f.stable[:f.shrunk:f.shrunk]
	}
	for p := range f.dirty {
		from, to := p*page, min((p+1)*page, int64(len(f.live)))
		if from >= to || !luck() {
			continue
		}
		if to > int64(len(f.stable)) {
			f.stable = resize(f.stable, to)
		}
		copy(f.stable[from:to], f.live[from:to])
	}
	clear(f.dirty)
	f.shrunk = -1
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// syncFolder makes the names in a folder survive.
func (d *disk) syncFolder(folder string) {
	var rest []nameOp
	for _, op := range d.pending {
		if op.touches(folder) {
			op.apply(d.stable)
		} else {
			rest = append(rest, op)
		}
	}
	d.pending = rest
	d.dirSyncs++
}

func (op nameOp) touches(folder string) bool {
	for _, f := range op.folders {
		if f == folder {
			return true
		}
	}
	return false
}

// note records a change of names.
func (d *disk) note(apply func(map[string]*file), names ...string) {
	op := nameOp{apply: apply}
	for _, n := range names {
		op.folders = append(op.folders, parent(n))
	}
	d.pending = append(d.pending, op)
}

func parent(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

// cut returns the disk after a power cut. With luck, some changes that were not
// synced survive: changes of names in their order up to some point, and pages in
// any order.
func (d *disk) cut(luck func() bool) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newDisk()
	after.fileSyncs, after.dirSyncs, after.forgotten = d.fileSyncs, d.dirSyncs, d.forgotten
	for _, op := range d.pending {
		if luck == nil || !luck() {
			break
		}
		op.apply(d.stable)
	}
	for name, f := range d.stable {
		after.forgotten += len(f.dirty) * page
		if luck != nil {
			f.keep(luck)
		}
		g := newFile(f.mode, f.folder)
		g.live = append([]byte(nil), f.stable...)
		g.stable = append([]byte(nil), f.stable...)
		after.stable[name] = g
	}
	return after
}
