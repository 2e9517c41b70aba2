package foreign

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
)

// Packed is the submissions of a load in the form for an import: a zip on the
// disk.
type Packed struct {
	File  *os.File
	Size  int64
	Wrong []string // submissions that could not be read, each with why
}

// Close removes the file.
func (p *Packed) Close() error { return errors.Join(p.File.Close(), os.Remove(p.File.Name())) }

// Section is the file for reading in any order.
func (p *Packed) Section() *io.SectionReader { return io.NewSectionReader(p.File, 0, p.Size) }

// Pack writes the submissions of a load, with their media, to the disk.
func (l *Load) Pack() (*Packed, error) {
	tmp, err := os.CreateTemp("", "hearth-import-*.zip")
	if err != nil {
		return nil, fmt.Errorf("pack submissions: %w", err)
	}
	p := &Packed{File: tmp}
	out := &writer{z: zip.NewWriter(tmp), p: p, folders: map[string]string{}}
	if l.main != nil {
		err = out.tables(l)
	} else {
		err = out.instances(l.instances)
	}
	for _, f := range l.media {
		if err == nil {
			err = out.copy(f, path.Join("media", out.folder(f), f.base()), zip.Store)
		}
	}
	if err = errors.Join(err, out.z.Close()); err == nil {
		p.Size, err = tmp.Seek(0, io.SeekEnd)
	}
	if err == nil && p.Size > MaxArchive {
		err = fmt.Errorf("%s has more than %d bytes with its media: export it in parts, by the day of submission", Shown(l.Name), MaxArchive)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pack submissions: %w", err), p.Close())
	}
	return p, nil
}

// writer writes the zip of a load.
type writer struct {
	z       *zip.Writer
	p       *Packed
	folders map[string]string // of media, by the folder of their instance
}

// folder is where the import finds a file: in the folder of its submission.
func (w *writer) folder(f *file) string {
	if id, ok := w.folders[f.dir()]; ok {
		return id
	}
	return path.Base(f.dir())
}

func (w *writer) copy(f *file, name string, method uint16) error {
	r, err := f.open()
	if err != nil {
		return fmt.Errorf("%s: %w", Shown(f.name), err)
	}
	defer r.Close()
	to, err := w.z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
	if err == nil {
		_, err = io.Copy(to, r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", Shown(f.name), err)
	}
	return nil
}

// tables copies the table of submissions and those of repeats. A workbook is not
// packed, so that it can be read where it stands.
func (w *writer) tables(l *Load) error {
	method := zip.Deflate
	if l.main.ext() == ".xlsx" {
		method = zip.Store
	}
	if err := w.copy(l.main, l.main.base(), method); err != nil {
		return err
	}
	for _, f := range l.repeats {
		if err := w.copy(f, f.base(), zip.Deflate); err != nil {
			return err
		}
	}
	return nil
}

// instances writes instances as an array of JSON. The import knows by the name
// of the file that phones have written it all.
func (w *writer) instances(all []*file) error {
	to, err := w.z.Create("submissions.xml.json")
	if err != nil {
		return err
	}
	before := "["
	dirs := map[string]int{}
	for _, f := range all {
		dirs[f.dir()]++
	}
	for _, f := range all {
		text, err := f.read(maxText)
		var i *instance
		if err == nil {
			i, err = parse(text)
		}
		if err != nil {
			w.p.Wrong = append(w.p.Wrong, Shown(f.name)+": "+err.Error())
			continue
		}
		if dirs[f.dir()] == 1 && !strings.ContainsAny(i.id, `/\`) {
			w.folders[f.dir()] = strings.TrimPrefix(i.id, "uuid:")
		}
		object, err := json.Marshal(i.root, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("%s: %w", Shown(f.name), err)
		}
		if _, err := io.WriteString(to, before+string(object)); err != nil {
			return err
		}
		before = ",\n"
	}
	if before == "[" {
		_, err = io.WriteString(to, "[")
	}
	_, last := io.WriteString(to, "]")
	return errors.Join(err, last)
}
