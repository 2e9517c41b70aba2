package web

import (
	"mime"
	"strconv"
	"strings"
)

// Preferred is the format whose media type an Accept header prefers, usual when
// it names none of them. media has the media types by format.
func Preferred(accept, usual string, media map[string]string) string {
	best, weight := usual, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		for format, m := range media {
			if m == kind && q > weight {
				best, weight = format, q
			}
		}
	}
	return best
}
