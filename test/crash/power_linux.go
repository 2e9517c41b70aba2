package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// powerMissing returns why this machine cannot simulate power cuts, or "".
func powerMissing() string {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return "no FUSE here: " + err.Error()
	}
	if err := f.Close(); err != nil {
		return err.Error()
	}
	return ""
}

// power is a place on a simulated disk, mounted through FUSE. A crash there is a
// power cut: the disk loses what was not synced.
type power struct {
	mount string
	disk  *disk
	fuse  *fuse.Server // while mounted
	cuts  int
	say   func(string, ...any)
}

func newPower(mount string, say func(string, ...any)) (place, error) {
	return &power{mount: mount, disk: newDisk(), say: say}, os.Mkdir(mount, 0o700)
}

func (p *power) databaseURL() string { return "" }

// open mounts the disk as the last cut left it.
func (p *power) open() (string, error) {
	if p.fuse != nil {
		return p.mount, nil
	}
	// Nothing changes the files but the kernel of this mount, so it may
	// remember names and attributes.
	keep := time.Hour
	var err error
	p.fuse, err = fs.Mount(p.mount, &dirNode{d: p.disk}, &fs.Options{
		MountOptions: fuse.MountOptions{FsName: "hearth-power", Name: "hearthpower", DirectMount: true, DisableXAttrs: true},
		EntryTimeout: &keep, AttrTimeout: &keep,
	})
	return p.mount, err
}

// crashed cuts the power. In every other cut some of what was not synced has
// reached the disk all the same, page by page, as on a real one.
func (p *power) crashed(rng *rand.Rand) error {
	if err := p.unmount(); err != nil {
		return err
	}
	p.cuts++
	var luck func() bool
	if p.cuts%2 == 0 {
		luck = func() bool { return rng.IntN(2) == 0 }
	}
	p.disk = p.disk.cut(luck)
	return nil
}

// unmount tries for a while: the kernel may still close files of the process
// that was killed.
func (p *power) unmount() error {
	if p.fuse == nil {
		return nil
	}
	var err error
	for range 100 {
		if err = p.fuse.Unmount(); err == nil {
			p.fuse.Wait()
			p.fuse = nil
			return nil
		}
		<-time.After(20 * time.Millisecond)
	}
	return err
}

func (p *power) export(to string) error {
	for _, name := range []string{"hearth.db", "hearth.db-wal"} {
		f := p.disk.stable[name]
		if f == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, name), f.stable, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *power) close() error {
	err := p.unmount()
	p.say("     %d power cuts, %d syncs of files, %d of folders; %d bytes were written and never synced", p.cuts, p.disk.fileSyncs, p.disk.dirSyncs, p.disk.forgotten)
	return errors.Join(err, os.Remove(p.mount))
}
