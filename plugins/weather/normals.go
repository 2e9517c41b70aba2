package weather

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a file of normals.
const (
	maxFile  = 2 << 20 // bytes
	maxNoted = 200     // characters of the file's description of itself
	maxTold  = 10      // mistakes that an error names
)

// Degrees Celsius that a mean of a month can have anywhere on Earth. What is beyond
// is another unit, or tenths.
const coldest, hottest = -75, 50

// noted are the lines at the beginning of a file of normals: nobody can judge a
// figure without its source, nor pass it on without its licence.
var noted = []string{"source", "version", "licence", "period"}

// columns lists the columns of a file of normals.
var columns = []string{"city", "country", "latitude", "longitude", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

const firstMonth = 4 // of columns

// normals knows the usual weather of places by month, from a file of the
// operator.
type normals struct {
	about map[string]string // by noted
	// places by folded "city" and "city, country"; nil where several cities have the
	// name, none of which is more likely meant than another.
	places map[string]*place
	clock  func() time.Time
}

var _ source = (*normals)(nil)

// place is a line of the file.
type place struct {
	city     string
	lat, lon float64
	means    [12]*float64 // nil: the file has no figure
}

// now finds a city and its usual weather in this month. The report says that this is
// not today's weather.
func (n *normals) now(_ context.Context, city string) (report, error) {
	month := n.clock().UTC().Month()
	at := n.places[fold(city)]
	if at == nil || at.means[month-1] == nil {
		return report{}, errUnknown
	}
	words := fmt.Sprintf("not measured now: the normal of %s %s (%s %s, %s)", month, n.about["period"], n.about["source"], n.about["version"], n.about["licence"])
	return report{city: at.city, tempC: *at.means[month-1], conditions: words, lat: at.lat, lon: at.lon}, nil
}

// readNormals reads a file. The error names what is wrong with it, line by line.
func readNormals(path string, clock func() time.Time) (*normals, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("the file has more than %d bytes", maxFile)
	case !utf8.Valid(text):
		return nil, errors.New("the file is not UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	n := &normals{about: map[string]string{}, places: map[string]*place{}, clock: clock}
	if err := errors.Join(n.readAbout(text), n.readPlaces(text)); err != nil {
		return nil, err
	}
	return n, nil
}

// readAbout reads the lines "# source: …" before the table.
func (n *normals) readAbout(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "#")
		if !ok {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		if name = strings.ToLower(strings.TrimSpace(name)); slices.Contains(noted, name) {
			n.about[name] = strings.TrimSpace(value)
		}
	}
	var bad []error
	for _, name := range noted {
		if v := n.about[name]; v == "" || utf8.RuneCountInString(v) > maxNoted || strings.ContainsFunc(v, unicode.IsControl) {
			bad = append(bad, fmt.Errorf("the file must begin with a line \"# %s: …\" of 1 to %d characters", name, maxNoted))
		}
	}
	return errors.Join(bad...)
}

// readPlaces reads the table.
func (n *normals) readPlaces(text []byte) error {
	table := csv.NewReader(bytes.NewReader(text))
	table.Comment, table.FieldsPerRecord, table.TrimLeadingSpace = '#', len(columns), true
	head, err := table.Read()
	if err != nil && !errors.Is(err, csv.ErrFieldCount) && !errors.Is(err, io.EOF) {
		return err
	}
	if !slices.Equal(head, columns) {
		return fmt.Errorf("the columns must be %s", strings.Join(columns, ","))
	}
	var bad []error
	seen := map[string]bool{}
	for len(bad) < maxTold {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // it names the line
			bad = append(bad, err)
			continue
		}
		line, _ := table.FieldPos(0)
		if err := n.add(row, seen); err != nil {
			bad = append(bad, fmt.Errorf("line %d: %w", line, err))
		}
	}
	if len(bad) == 0 && len(seen) == 0 {
		return errors.New("the file holds no city")
	}
	return errors.Join(bad...)
}

// add takes a line of the table. It is found by the city alone while no other has
// that name, and always by "city, country".
func (n *normals) add(row []string, seen map[string]bool) error {
	at, err := readPlace(row)
	if err != nil {
		return err
	}
	short, whole := fold(row[0]), fold(row[0]+", "+row[1])
	if seen[whole] {
		return fmt.Errorf("city: %s of %s is there twice", row[0], row[1])
	}
	if _, several := n.places[short]; several {
		n.places[short] = nil
	} else {
		n.places[short] = at
	}
	seen[whole], n.places[whole] = true, at
	return nil
}

func readPlace(row []string) (*place, error) {
	at := &place{city: row[0]}
	if fold(row[0]) == "" || utf8.RuneCountInString(row[0]) > maxCity || strings.ContainsFunc(row[0], unicode.IsControl) {
		return nil, fmt.Errorf("city: want a name of 1 to %d characters", maxCity)
	}
	if len(row[1]) != 2 || strings.Trim(row[1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, fmt.Errorf("country: %q is no code of two capital letters, such as KE", row[1])
	}
	var err error
	if at.lat, err = number(row, 2, -90, 90); err != nil {
		return nil, err
	}
	if at.lon, err = number(row, 3, -180, 180); err != nil {
		return nil, err
	}
	for i := range at.means {
		if row[firstMonth+i] == "" {
			continue
		}
		mean, err := number(row, firstMonth+i, coldest, hottest)
		if err != nil {
			return nil, err
		}
		at.means[i] = &mean
	}
	return at, nil
}

// number reads a number of a line.
func number(row []string, column int, low, high float64) (float64, error) {
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil || !(v >= low && v <= high) {
		return 0, fmt.Errorf("%s: %q is no number from %g to %g", columns[column], row[column], low, high)
	}
	return v, nil
}

// fold is a name without case, accents and what stands between its words.
func fold(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}
