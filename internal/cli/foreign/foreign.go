// Package foreign reads what ODK Central and KoboToolbox export: a folder or a
// zip with forms, submissions and media, as these programs name them or as
// somebody has put them together. It finds out what each file is and which form
// a submission belongs to, and packs the submissions of a form for the import
// of responses.
//
// It promises that nothing is left out silently: a file that it cannot place is
// named. It reads within bounds, whatever an archive says about itself, and no
// path leads out of the folder or the archive.
package foreign

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits.
const (
	maxFiles    = 200_000 // of an export
	maxUnpacked = 8 << 30 // bytes that are read of archives, all together
	maxWorkbook = 16 << 20
	maxText     = 1 << 20 // bytes of an instance, and of a list of app users
	MaxArchive  = 1 << 30 // bytes that are sent for a form
)

// Form is a form of an export, with its submissions.
type Form struct {
	ID       string // as the other program calls it
	Name     string // of its file
	Workbook []byte
	Files    map[string][]byte // CSV files that it may name
	Loads    []*Load

	dir, stem string
}

// Load is a table of submissions with what belongs to it: tables of repeats,
// instances, media.
type Load struct {
	Name      string // of the table, or of the folder of instances
	Files     int    // of media
	main      *file
	repeats   []*file
	instances []*file
	media     []*file
	dirs      map[string]bool // where the submissions stand
}

// Export is the content of an export.
type Export struct {
	Forms    []*Form
	AppUsers []string // their names
	Left     []string // files that nothing is known of, each with why

	ended    func() error // why nothing more is read
	files    []*file
	media    []*file
	unpacked int64
	close    []func() error
}

// file is a file of an export.
type file struct {
	name string // with slashes
	open func() (io.ReadCloser, error)
	xml  string // id of the form of an instance
}

func (f *file) dir() string  { return path.Dir(f.name) }
func (f *file) base() string { return path.Base(f.name) }
func (f *file) ext() string  { return strings.ToLower(path.Ext(f.name)) }

// stem is the name without what Central and spreadsheets add to it.
func (f *file) stem() string {
	return strings.TrimSuffix(strings.TrimSuffix(f.base(), path.Ext(f.name)), ".csv")
}

// read reads a file that must be small.
func (f *file) read(most int64) ([]byte, error) {
	r, err := f.open()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", Shown(f.name), err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", Shown(f.name), err)
	}
	return text, nil
}

// Shown is a name for a terminal: quoted if it has invisible characters, which a
// terminal may obey.
func Shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// Empty reports whether there was no file.
func (x *Export) Empty() bool { return len(x.files)+len(x.Left) == 0 }

// Close closes the export.
func (x *Export) Close() error {
	var all error
	for _, f := range slices.Backward(x.close) {
		all = errors.Join(all, f())
	}
	return all
}

func (x *Export) leave(f *file, why string) { x.Left = append(x.Left, Shown(f.name)+": "+why) }

// arrange sorts the findings, so that two runs report the same.
func (x *Export) arrange() {
	slices.SortFunc(x.Forms, func(a, b *Form) int { return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Name, b.Name)) })
	for _, f := range x.Forms {
		slices.SortFunc(f.Loads, func(a, b *Load) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.Sort(x.Left)
}
