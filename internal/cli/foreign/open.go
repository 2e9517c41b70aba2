package foreign

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// Open reads an export: a folder, or a zip. Close it after use. Once ctx is done
// nothing more is read.
func Open(ctx context.Context, name string) (*Export, error) {
	x := &Export{unpacked: maxUnpacked, ended: ctx.Err}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		err = x.folder(name)
	} else if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is neither a folder nor a regular file", Shown(name))
	} else if err == nil {
		err = x.archive(name, "")
	}
	if err == nil {
		err = x.nested()
	}
	if err == nil {
		err = cmp.Or(x.sort(), ctx.Err())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read export: %w", err), x.Close())
	}
	x.arrange()
	return x, nil
}

// add records a file. It ignores those that systems and spreadsheets leave
// behind.
func (x *Export) add(f *file) error {
	if strings.HasPrefix(f.base(), ".") || strings.HasPrefix(f.base(), "~$") || strings.Contains("/"+f.name, "/__MACOSX/") {
		return nil
	}
	if len(x.files) == maxFiles {
		return fmt.Errorf("an export has at most %d files", maxFiles)
	}
	open := f.open
	f.open = func() (io.ReadCloser, error) {
		if err := x.ended(); err != nil {
			return nil, err
		}
		r, err := open()
		if err != nil {
			return nil, err
		}
		return &ending{r, x.ended}, nil
	}
	x.files = append(x.files, f)
	return nil
}

// ending is a file that ends with the program: copies may be long.
type ending struct {
	io.ReadCloser
	ended func() error
}

func (e *ending) Read(p []byte) (int, error) {
	if err := e.ended(); err != nil {
		return 0, err
	}
	return e.ReadCloser.Read(p)
}

// folder lists the files of a folder. Links that lead out of it are not followed,
// and only regular files are opened, because a pipe has no end.
func (x *Export) folder(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	x.close = append(x.close, root.Close)
	return fs.WalkDir(root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		if err = cmp.Or(err, x.ended()); err != nil || d.IsDir() {
			return err
		}
		f := &file{name: at, open: func() (io.ReadCloser, error) { return root.Open(at) }}
		if info, err := root.Stat(at); err == nil && !info.Mode().IsRegular() {
			x.leave(f, "it is not a regular file")
			return nil
		}
		return x.add(f)
	})
}

// archive lists the files of a zip on the disk, as if they stood in a folder.
func (x *Export) archive(name, folder string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	x.close = append(x.close, f.Close)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return x.entries(f, info.Size(), folder)
}

func (x *Export) entries(src io.ReaderAt, size int64, folder string) error {
	z, err := sheet.OpenZip(src, size, maxFiles)
	if err != nil {
		return fmt.Errorf("%s: %w", Shown(path.Join(folder, "zip")), err)
	}
	for _, e := range z.File {
		at := strings.ReplaceAll(e.Name, `\`, "/")
		if e.FileInfo().IsDir() {
			continue
		}
		if !fs.ValidPath(at) {
			return fmt.Errorf("the archive has a file with the path %q, which leads out of it", e.Name)
		}
		if err := x.add(&file{name: path.Join(folder, at), open: func() (io.ReadCloser, error) { return x.unpack(e) }}); err != nil {
			return err
		}
	}
	return nil
}

// unpack opens a file of an archive. The size that the archive states can be a
// lie: what is read counts.
func (x *Export) unpack(e *zip.File) (io.ReadCloser, error) {
	r, err := e.Open()
	if err != nil {
		return nil, err
	}
	return &unpacking{r, x}, nil
}

type unpacking struct {
	io.ReadCloser
	x *Export
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if u.x.unpacked -= int64(n); u.x.unpacked < 0 {
		return 0, fmt.Errorf("the archives of an export have at most %d bytes once they are unpacked", int64(maxUnpacked))
	}
	return n, err
}

// nested opens the zips inside an export, as Central gives one for each form.
// Those inside these are left alone.
func (x *Export) nested() error {
	var zips []*file
	x.files = slices.DeleteFunc(x.files, func(f *file) bool {
		if f.ext() != ".zip" {
			return false
		}
		zips = append(zips, f)
		return true
	})
	for _, f := range zips {
		name, err := x.spool(f)
		if err == nil {
			err = x.archive(name, f.name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", Shown(f.name), err)
		}
	}
	return nil
}

// spool copies a file to the disk, where it can be read in any order. It is
// gone when the export is closed.
func (x *Export) spool(f *file) (string, error) {
	r, err := f.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	tmp, err := os.CreateTemp("", "hearth-import-*.zip")
	if err != nil {
		return "", err
	}
	x.close = append(x.close, func() error { return os.Remove(tmp.Name()) })
	n, err := io.Copy(tmp, io.LimitReader(r, MaxArchive+1))
	if err == nil && n > MaxArchive {
		err = fmt.Errorf("it has more than %d bytes", MaxArchive)
	}
	return tmp.Name(), errors.Join(err, tmp.Close())
}
