package attach

import (
	"bytes"
	"encoding/binary"
	"mime"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/file"
)

// readBytes is how much of a file is read, in bytes: MaxText characters in any
// encoding, and one more to see that there is more.
const readBytes = MaxText*utf8.UTFMax + utf8.UTFMax

// readable reports whether a file is text, by its type and, where that says
// nothing, by its name.
func readable(mimetype, filename string) bool {
	kind, _, err := mime.ParseMediaType(mimetype)
	if err != nil {
		kind, _, _ = strings.Cut(mimetype, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	switch kind {
	case "", "application/octet-stream", "binary/octet-stream", "application/download", "application/force-download":
		return byName(filename)
	case "image/svg+xml":
		return false
	}
	return file.IsText(kind)
}

func byName(filename string) bool {
	switch strings.ToLower(path.Ext(filename)) {
	case ".txt", ".md", ".markdown", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xml", ".yaml", ".yml", ".toml", ".log", ".html", ".htm", ".sql", ".geojson":
		return true
	}
	return false
}

// decode returns a file as text. It is UTF-8 unless it declares another
// encoding that we know; ok is false when it is not text, whatever its server
// says.
func decode(raw []byte, contentType string) (text string, ok bool) {
	if file.Sniff(raw) != "" {
		return "", false
	}
	_, params, _ := mime.ParseMediaType(contentType)
	switch {
	case bytes.HasPrefix(raw, []byte("\xFF\xFE")):
		text = wide(raw[2:], binary.LittleEndian)
	case bytes.HasPrefix(raw, []byte("\xFE\xFF")):
		text = wide(raw[2:], binary.BigEndian)
	case latin(params["charset"]) && !utf8.Valid(raw):
		text = latin1(raw)
	default:
		text = strings.ToValidUTF8(whole(strings.TrimPrefix(string(raw), "\uFEFF")), "\uFFFD")
	}
	return text, !strings.ContainsRune(text, 0)
}

// whole removes a character that was split at the end.
func whole(s string) string {
	for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

func latin(charset string) bool {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "windows-1252", "us-ascii":
		return true
	}
	return false
}

func latin1(raw []byte) string {
	out := make([]rune, len(raw))
	for i, b := range raw {
		out[i] = rune(b)
	}
	return string(out)
}

func wide(raw []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// beginning is the first n characters of a text, and whether that is all of it.
func beginning(text string, n int) (string, bool) {
	for i := range text {
		if n--; n < 0 {
			return text[:i], false
		}
	}
	return text, true
}
