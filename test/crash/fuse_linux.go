package main

import (
	"context"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// dirNode is a folder of the mounted disk.
type dirNode struct {
	fs.Inode
	d *disk
}

var (
	_ fs.NodeOnAdder   = (*dirNode)(nil)
	_ fs.NodeCreater   = (*dirNode)(nil)
	_ fs.NodeMkdirer   = (*dirNode)(nil)
	_ fs.NodeUnlinker  = (*dirNode)(nil)
	_ fs.NodeRmdirer   = (*dirNode)(nil)
	_ fs.NodeRenamer   = (*dirNode)(nil)
	_ fs.NodeLinker    = (*dirNode)(nil)
	_ fs.NodeFsyncer   = (*dirNode)(nil)
	_ fs.NodeGetattrer = (*dirNode)(nil)
	_ fs.NodeSetattrer = (*dirNode)(nil)
	_ fs.NodeStatfser  = (*dirNode)(nil)
)

// OnAdd fills the tree with what the disk holds, when the root is mounted.
func (n *dirNode) OnAdd(ctx context.Context) {
	if !n.IsRoot() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.d.stable)) { // folders before what is in them
		dir := &n.Inode
		if p := parent(name); p != "" {
			if dir = n.find(p); dir == nil {
				continue // its folder was never synced
			}
		}
		dir.AddChild(path.Base(name), n.child(ctx, dir, n.d.stable[name]), true)
	}
}

func (n *dirNode) find(name string) *fs.Inode {
	at := &n.Inode
	for _, part := range splitPath(name) {
		if at = at.GetChild(part); at == nil {
			return nil
		}
	}
	return at
}

func splitPath(name string) []string {
	if p := parent(name); p != "" {
		return append(splitPath(p), path.Base(name))
	}
	return []string{name}
}

// child makes the inode of f.
func (n *dirNode) child(ctx context.Context, dir *fs.Inode, f *file) *fs.Inode {
	if f.folder {
		return dir.NewPersistentInode(ctx, &dirNode{d: n.d}, fs.StableAttr{Mode: syscall.S_IFDIR})
	}
	return dir.NewPersistentInode(ctx, &fileNode{d: n.d, f: f}, fs.StableAttr{Mode: syscall.S_IFREG})
}

// name returns the path of an entry from the root of the disk.
func (n *dirNode) name(entry string) string { return path.Join(n.Path(nil), entry) }

// Create makes a file. Its name survives once the folder is synced.
func (n *dirNode) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	f, full := newFile(mode&0o777, false), n.name(name)
	n.d.note(func(names map[string]*file) { names[full] = f }, full)
	f.attr(&out.Attr)
	return n.child(ctx, &n.Inode, f), nil, fuse.FOPEN_KEEP_CACHE, fs.OK
}

// Mkdir makes a folder.
func (n *dirNode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	f, full := newFile(mode&0o777, true), n.name(name)
	n.d.note(func(names map[string]*file) { names[full] = f }, full)
	out.Attr.Mode = syscall.S_IFDIR | f.mode
	return n.child(ctx, &n.Inode, f), fs.OK
}

// Unlink removes a name. Until the folder is synced it may come back.
func (n *dirNode) Unlink(_ context.Context, name string) syscall.Errno {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	full := n.name(name)
	n.d.note(func(names map[string]*file) { delete(names, full) }, full)
	return fs.OK
}

// Rmdir removes an empty folder.
func (n *dirNode) Rmdir(ctx context.Context, name string) syscall.Errno {
	if c := n.GetChild(name); c != nil && len(c.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	return n.Unlink(ctx, name)
}

// Rename moves a file; whole folders are not needed here.
func (n *dirNode) Rename(_ context.Context, name string, newParent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to, ok := newParent.(*dirNode)
	c := n.GetChild(name)
	if !ok || flags != 0 || c == nil {
		return syscall.EINVAL
	}
	moved, ok := c.Operations().(*fileNode)
	if !ok {
		return syscall.ENOSYS
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	from, target := n.name(name), to.name(newName)
	n.d.note(func(names map[string]*file) {
		delete(names, from)
		names[target] = moved.f
	}, from, target)
	return fs.OK
}

// Link gives a file a second name.
func (n *dirNode) Link(_ context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	old, ok := target.(*fileNode)
	if !ok {
		return nil, syscall.EPERM
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	full := n.name(name)
	n.d.note(func(names map[string]*file) { names[full] = old.f }, full)
	old.f.attr(&out.Attr)
	return old.EmbeddedInode(), fs.OK
}

// Fsync makes the names in the folder survive.
func (n *dirNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	n.d.syncFolder(n.Path(nil))
	return fs.OK
}

// Getattr returns the mode of a folder.
func (n *dirNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = syscall.S_IFDIR | 0o700
	return fs.OK
}

// Setattr accepts times and modes, and forgets them.
func (n *dirNode) Setattr(ctx context.Context, h fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.Getattr(ctx, h, out)
}

// Statfs reports a large empty disk.
func (n *dirNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = page, page, 255
	out.Blocks, out.Bfree, out.Bavail, out.Files, out.Ffree = 1<<24, 1<<24, 1<<24, 1<<20, 1<<20
	return fs.OK
}

// fileNode is a file of the mounted disk. The kernel keeps its pages, so it
// can be mapped into memory, which SQLite does with its -shm file.
type fileNode struct {
	fs.Inode
	d *disk
	f *file
}

var (
	_ fs.NodeOpener    = (*fileNode)(nil)
	_ fs.NodeReader    = (*fileNode)(nil)
	_ fs.NodeWriter    = (*fileNode)(nil)
	_ fs.NodeFsyncer   = (*fileNode)(nil)
	_ fs.NodeFlusher   = (*fileNode)(nil)
	_ fs.NodeGetattrer = (*fileNode)(nil)
	_ fs.NodeSetattrer = (*fileNode)(nil)
)

// Open succeeds without a handle.
func (n *fileNode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, fs.OK
}

// Read returns live content.
func (n *fileNode) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	size := int64(len(n.f.live))
	from := min(off, size)
	return fuse.ReadResultData(append(dest[:0], n.f.live[from:min(off+int64(len(dest)), size)]...)), fs.OK
}

// Write changes live content.
func (n *fileNode) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	n.f.write(data, off)
	return uint32(len(data)), fs.OK
}

// Fsync makes the content survive.
func (n *fileNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	n.f.sync()
	n.d.fileSyncs++
	return fs.OK
}

// Flush does nothing: closing a file does not make it survive.
func (n *fileNode) Flush(context.Context, fs.FileHandle) syscall.Errno { return fs.OK }

// Getattr returns size and mode.
func (n *fileNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	n.f.attr(&out.Attr)
	return fs.OK
}

// Setattr changes size and mode.
func (n *fileNode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		n.f.truncate(int64(size))
	}
	if mode, ok := in.GetMode(); ok {
		n.f.mode = mode & 0o777
	}
	n.f.attr(&out.Attr)
	return fs.OK
}

func (f *file) attr(out *fuse.Attr) {
	out.Mode, out.Nlink = syscall.S_IFREG|f.mode, 1
	out.Size, out.Blksize = uint64(len(f.live)), page
	out.Blocks = (out.Size + 511) / 512
}
