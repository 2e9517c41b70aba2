package sheet_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// An archive is looked into only as far as its directory is within bounds,
// whatever its end says of that.
func TestOpenZip(t *testing.T) {
	t.Parallel()
	archive := func(files int, name string) []byte {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for i := range files {
			if _, err := z.Create(fmt.Sprint(i, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	small := archive(3, "")
	// 70,000 files need the larger end record.
	many := archive(70_000, "")
	// An end that tells of four files of 65,540, as the reader of archives forgives.
	lie := archive(65_540, "")
	end := bytes.LastIndex(lie, []byte("PK\x05\x06"))
	locator := bytes.LastIndex(lie, []byte("PK\x06\x07"))
	large := bytes.LastIndex(lie, []byte("PK\x06\x06"))
	size, start := binary.LittleEndian.Uint64(lie[large+40:]), binary.LittleEndian.Uint64(lie[large+48:])
	lie = append(lie[:large:large], lie[end:]...)
	binary.LittleEndian.PutUint16(lie[large+8:], 4)
	binary.LittleEndian.PutUint16(lie[large+10:], 4)
	binary.LittleEndian.PutUint32(lie[large+12:], uint32(size))
	binary.LittleEndian.PutUint32(lie[large+16:], uint32(start))
	if locator < large {
		t.Fatal("the end has another order")
	}
	if z, err := zip.NewReader(bytes.NewReader(lie), int64(len(lie))); err != nil || len(z.File) != 65_540 {
		t.Fatalf("the lie is none: %v", err)
	}
	// An end that asks for room for a thousand million files.
	room := bytes.Clone(many)
	binary.LittleEndian.PutUint64(room[bytes.LastIndex(room, []byte("PK\x06\x06"))+32:], 1e9)
	for name, tt := range map[string]struct {
		file  []byte
		most  int
		files int
		code  string
	}{
		"small":            {small, 3, 3, ""},
		"one too many":     {small, 2, 0, "too_large"},
		"many":             {many, 70_000, 70_000, ""},
		"too many":         {many, 69_999, 0, "too_large"},
		"a lie":            {lie, 1000, 0, "too_large"},
		"room for others":  {room, 200_000, 0, "too_large"},
		"a long directory": {archive(300, strings.Repeat("n", 60_000)), 1000, 0, "too_large"},
		"no zip":           {[]byte("PK"), 10, 0, "not_zip"},
		"nothing":          {nil, 10, 0, "not_zip"},
		"an end alone":     {small[len(small)-21:], 10, 0, "not_zip"},
	} {
		z, err := sheet.OpenZip(bytes.NewReader(tt.file), int64(len(tt.file)), tt.most)
		if e := sheet.AsError(err); tt.code != "" && (e == nil || e.Code != tt.code) || tt.code == "" && (err != nil || len(z.File) != tt.files) {
			t.Errorf("%s: %v, want %q", name, err, tt.code)
		}
	}
}
