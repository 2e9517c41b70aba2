package report

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Rendering is the form in which a request wants its figures.
type Rendering struct {
	Format   string `query:"format" enum:"json,svg" doc:"svg: a picture with its description. When absent, the Accept header decides; json is the default."`
	Accept   string `header:"Accept" doc:"image/svg+xml for a picture."`
	Width    int    `query:"width" doc:"Width of a picture, 300 to 1400; 640 by default."`
	Language string `query:"language" doc:"Language of the words in a picture: English or Kiswahili (sw). Labels of the survey can be in any language it has, by default that of the template. When absent, the Accept-Language header decides." example:"sw"`
	Spoken   string `header:"Accept-Language" doc:"English, or Kiswahili for sw."`
}

// Media lists the media types of routes that answer with figures or a picture
// of them.
const Media = "application/json, " + mediaType

// Picture reports whether a picture is wanted. The fault is INVALID_PARAMETER.
func (f *Rendering) Picture() (bool, error) {
	var c fault.Checks
	check.OneOf(&c, "query/format", f.Format, "json", "svg")
	if f.Width != 0 && (f.Width < minWidth || f.Width > maxWidth) {
		c.Add("query/width", "out_of_range", "The value must be from 300 to 1400.")
	}
	check.Short(&c, "query/language", f.Language, 40)
	if spoken := strings.ToLower(f.Spoken); f.Language == "" && (spoken == "sw" || strings.HasPrefix(spoken, "sw-") || strings.HasPrefix(spoken, "sw,") || strings.HasPrefix(spoken, "sw;")) {
		f.Language = "sw"
	}
	if f.Format == "" {
		f.Format = web.Preferred(f.Accept, "json", map[string]string{"json": "application/json", "svg": mediaType})
	}
	return f.Format == "svg", c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// Reply answers a route that has figures of type T with a picture of them.
func Reply[T any](svg []byte) web.Reply[T] {
	return web.Reply[T]{Raw: svg, Media: mediaType, Policy: Policy()}
}
