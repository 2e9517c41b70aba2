package main

import (
	"bytes"
	"testing"
)

func never() bool { return false }

func always() bool { return true }

// TestDiskForgets shows that the disk is as forgetful as it should be, and no
// more: only then does a round prove anything.
func TestDiskForgets(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("x"), 3*page)
	for _, tt := range []struct {
		name string
		do   func(*file)
		luck func() bool
		want []byte
	}{
		{"written", func(f *file) { f.write([]byte("abc"), 0) }, nil, nil},
		{"synced", func(f *file) { f.write([]byte("abc"), 0); f.sync() }, nil, []byte("abc")},
		{"written after the sync", func(f *file) { f.write([]byte("abc"), 0); f.sync(); f.write([]byte("zzz"), 0) }, nil, []byte("abc")},
		{"grown after the sync", func(f *file) { f.write([]byte("abc"), 0); f.sync(); f.write([]byte("d"), 3) }, nil, []byte("abc")},
		{"shortened", func(f *file) { f.write(long, 0); f.sync(); f.truncate(1) }, nil, long},
		{"shortened and synced", func(f *file) { f.write(long, 0); f.sync(); f.truncate(1); f.sync() }, nil, []byte("x")},
		{"shortened and grown", func(f *file) { f.write(long, 0); f.sync(); f.truncate(0); f.truncate(2); f.sync() }, nil, []byte{0, 0}},
		{"unlucky", func(f *file) { f.write([]byte("abc"), 0) }, never, nil},
		{"lucky", func(f *file) { f.write([]byte("abc"), 0) }, always, []byte("abc")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, f := newDisk(), newFile(0o600, false)
			d.stable["f"] = f
			tt.do(f)
			if got := d.cut(tt.luck).stable["f"].live; !bytes.Equal(got, tt.want) {
				t.Errorf("after the cut the file has %d bytes, want %d", len(got), len(tt.want))
			}
		})
	}
}

func TestDiskNames(t *testing.T) {
	t.Parallel()
	add := func(d *disk, name string) {
		f := newFile(0o600, false)
		d.note(func(names map[string]*file) { names[name] = f }, name)
	}
	d := newDisk()
	add(d, "a")
	add(d, "sub/b")
	d.syncFolder("")
	after := d.cut(nil)
	if after.stable["a"] == nil || after.stable["sub/b"] != nil {
		t.Errorf("names after a sync of the root = %v, want a alone", after.stable)
	}
	after.note(func(names map[string]*file) { delete(names, "a") }, "a")
	if after.cut(never).stable["a"] == nil {
		t.Error("a removed name was gone before its folder was synced")
	}
	if after.cut(always).stable["a"] != nil {
		t.Error("a removed name came back after it had reached the disk")
	}
}
