package file_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/file"
)

func picture(t *testing.T, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Only bytes of the declared type pass for it.
func TestFits(t *testing.T) {
	t.Parallel()
	jpg := picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })
	pic := picture(t, png.Encode)
	moving := picture(t, func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) })
	const pdf, zip, page, words, program = "%PDF-1.7\n", "PK\x03\x04\x14\x00", "<!doctype html><script>alert(1)</script>", "a,b\n1,2\n", "\x7FELF\x02\x01\x01\x00"
	for _, tt := range []struct {
		declared, bytes string
		want            bool
	}{
		{"image/jpeg", jpg, true},
		{"image/png", pic, true},
		{"image/gif", moving, true},
		{"application/pdf", pdf, true},
		{"application/zip", zip, true},
		{"IMAGE/JPEG; a=b", jpg, true},
		{"audio/mpeg", "ID3\x04", true},
		{"audio/ogg", "OggS\x00", true},
		{"image/heic", "\x00\x00\x00\x18ftypheic", true},
		{"video/mp4", "\x00\x00\x00\x18ftypisom", true},
		{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", zip, true},
		{"text/csv", words, true},
		{"application/json", `{"a":1}`, true},
		{"application/octet-stream", program, true},
		{"application/x-unheard-of", "whatever", true},
		{"text/html", page, true},
		{"text/csv", "ID3,name\n", true},
		{"text/plain", "The new WAVE", true},
		{"text/plain", "MZuri", true},
		{"audio/wav", "RIFF\x01\x02\x03\x04WAVE", true},
		{"image/jpeg", pic, false},
		{"image/png", page, false},
		{"image/jpeg", program, false},
		{"application/pdf", page, false},
		{"image/jpeg", "", false},
		{"audio/ogg", jpg, false},
		{"text/csv", zip, false},
		{"text/plain", "a\x00b", false},
		{"application/json", pdf, false},
		{"application/x-unheard-of", program, false},
		{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", words, false},
		{"application/zip", "\x1F\x8B\x08", false},
		{"no type", words, false},
	} {
		if got := file.Fits(tt.declared, []byte(tt.bytes)); got != tt.want {
			t.Errorf("Fits(%q, %.12q) = %v", tt.declared, tt.bytes, got)
		}
	}
	if got := file.Sniff([]byte(jpg)); got != "image/jpeg" || file.Sniff([]byte(words)) != "" {
		t.Errorf("a picture is %q", got)
	}
}

// A picture of a few bytes that unpacks to gigabytes is known by its head.
func TestIsHuge(t *testing.T) {
	t.Parallel()
	pic := []byte(picture(t, png.Encode))
	if file.IsHuge(pic) || file.IsHuge([]byte("no picture")) {
		t.Error("a small picture is huge")
	}
	binary.BigEndian.PutUint32(pic[16:], 60_000)
	binary.BigEndian.PutUint32(pic[20:], 60_000)
	binary.BigEndian.PutUint32(pic[29:], crc32.ChecksumIEEE(pic[12:29]))
	if !file.IsHuge(pic) {
		t.Error("60,000 times 60,000 points are not huge")
	}
	if file.IsHuge([]byte(strings.Repeat("\xFF\xD8\xFF", 10))) {
		t.Error("a broken picture is huge")
	}
}
