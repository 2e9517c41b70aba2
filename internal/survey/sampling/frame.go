package sampling

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Header is the first line of a frame as it is hashed and published.
const Header = "unit,stratum,cluster\n"

// maxCell is the most characters of a unit, a stratum or a cluster.
const maxCell = 200

// line appends a unit as a line of the published frame. Cells have no commas,
// quotes or control characters, so a hash can be checked without a CSV reader.
func line(dst []byte, u Unit) []byte {
	dst = append(dst, u.Unit...)
	dst = append(dst, ',')
	dst = append(dst, u.Stratum...)
	dst = append(dst, ',')
	dst = append(dst, u.Cluster...)
	return append(dst, '\n')
}

// readLines reads lines of a published frame.
func readLines(text string, visit func(Unit) error) error {
	for len(text) > 0 {
		row, rest, ok := strings.Cut(text, "\n")
		unit, more, ok1 := strings.Cut(row, ",")
		stratum, cluster, ok2 := strings.Cut(more, ",")
		if !ok || !ok1 || !ok2 || strings.Contains(cluster, ",") {
			return fmt.Errorf("the frame has a line that is not unit,stratum,cluster: %.80q", row)
		}
		if err := visit(Unit{unit, stratum, cluster}); err != nil {
			return err
		}
		text = rest
	}
	return nil
}

// hasher makes the hash of a frame: the SHA-256 of its published text.
type hasher struct{ sum hash.Hash }

func newHasher() *hasher {
	h := &hasher{sha256.New()}
	_, _ = h.sum.Write([]byte(Header))
	return h
}

func (h *hasher) add(lines string) { _, _ = io.WriteString(h.sum, lines) }
func (h *hasher) String() string   { return hex.EncodeToString(h.sum.Sum(nil)) }
func plainCell(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxCell && s == strings.TrimSpace(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == ',' || r == '"' || unicode.IsControl(r) })
}

// Row is a household of a frame as it comes from a file or the registry.
type Row struct {
	Household, Stratum, Cluster string
}

// errRow is an error in a row of a file.
type errRow struct {
	line int
	what string
}

func (e errRow) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

// cellsBy detects the separator of a file's cells from its first line:
// semicolons and tabs where there is no comma, as office programs write them.
func cellsBy(r *bufio.Reader) rune {
	head, _ := r.Peek(1 << 10)
	head, _, _ = bytes.Cut(head, []byte("\n"))
	for _, sep := range []byte(",;\t") {
		if bytes.IndexByte(head, sep) >= 0 {
			return rune(sep)
		}
	}
	return ','
}

// ReadCSV reads a file with the columns household (a DID), and optionally
// stratum and cluster. They are separated by commas, semicolons or tabs.
func ReadCSV(r io.Reader, visit func(line int, row Row) error) error {
	text := bufio.NewReader(r)
	in := csv.NewReader(text)
	in.ReuseRecord, in.FieldsPerRecord, in.Comma = true, -1, cellsBy(text)
	var broken *csv.ParseError // any other error is not the file's
	head, err := in.Read()
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &broken) {
		return fmt.Errorf("read file: %w", err)
	} else if err != nil {
		return errRow{1, "The file must begin with a line that names its columns: household, stratum, cluster."}
	}
	if len(head) > 0 {
		head[0] = strings.TrimPrefix(head[0], "\ufeff")
	}
	at := func(names ...string) int {
		return slices.IndexFunc(head, func(h string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(h))) })
	}
	household, stratum, cluster := at("household", "householdid", "unit", "did"), at("stratum"), at("cluster")
	if household < 0 {
		return errRow{1, "There is no column household."}
	}
	cell := func(row []string, i int) string {
		if i < 0 || i >= len(row) {
			return ""
		}
		return strings.TrimSpace(row[i])
	}
	for n := 2; ; n++ {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil && !errors.As(err, &broken) {
			return fmt.Errorf("read file: %w", err)
		} else if err != nil {
			return errRow{n, "The line cannot be read: " + err.Error() + "."}
		}
		if err := visit(n, Row{cell(row, household), cell(row, stratum), cell(row, cluster)}); err != nil {
			return err
		}
	}
}

// home is a unit and the household behind it.
type home struct {
	Unit
	household string
}

// homesText is the households of a piece of a frame, one a line, in its order.
func homesText(list []home) (units, homes string) {
	var u []byte
	var h bytes.Buffer
	for _, one := range list {
		u = line(u, one.Unit)
		h.WriteString(one.household)
		h.WriteByte('\n')
	}
	return string(u), h.String()
}
