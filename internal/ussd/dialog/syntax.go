package dialog

// titled begins a dialog, also in the middle of a file.
const titled = "dialog:"

// Form is one kind of line of a dialog file.
type Form struct {
	Line  string // as it is written
	About string
	word  string // that errors call it; Line by default
}

// The lines before the first step.
var headers = []Form{
	{titled + " look at the prices", "the title; in a file with several dialogs it begins a new one, which shares nothing with the one before", "dialog"},
	{"phone: +254700000007", "the number; `new`, the default, is a different one for each run", "phone"},
	{"code: *2233#", "the service code; `" + DefaultCode + "` by default", "code"},
	{"gateway: africastalking", "the gateway whose format is used; the documented interface by default", "gateway"},
	{"text: latest", "what the texts hold: `accumulated` (the default) or `latest`; gateways have their own", "text"},
	{"needs: id, pin", "values that the caller of the dialog gives with `--set id=…`", "needs"},
	{"let pin = 48213", "a value, used as `{pin}`; `{phone}` and `{code}` are always there, `{{` is one brace", "let"},
}

// The lines for actions of the handset.
var doings = []Form{
	{">", "dial", ""},
	{"> 2", "type; when no call is up, dial the code with answers behind it, such as `> 2*1`", ""},
}

// The commands.
var commands = []Form{
	{":redial", "hang up: the next `>` dials", ""},
	{":again", "the gateway sends the last request once more; the answer must be the same", ""},
	{":double", "the next request is sent twice at once; both get one answer", ""},
	{":do later 16m", "something happens outside the handset, on servers of tests", ":do"},
}

// The lines for what must be on the screen.
var claims = []Form{
	{"< CON Welcome to Hearth", "the whole screen, one line for each of its lines", ""},
	{"~ log me in", "some of the screen", ""},
	{"! 5.", "not on the screen", ""},
	{"@ accountMenu", "the node", ""},
	{"= id: (C[A-Z0-9]{8})", "keeps what the pattern matches, the part in brackets or all of it, as `{id}`", ""},
	{"CON", "the session goes on; `END`: it is over", ""},
	{"# …", "a comment", ""},
}

// Syntax lists every kind of line, in the order of a file.
func Syntax() []Form {
	var all []Form
	for _, part := range [][]Form{headers, doings, commands, claims} {
		all = append(all, part...)
	}
	return all
}

// forms lists what lines are called in errors.
func forms(of []Form) []string {
	out := make([]string, len(of))
	for i, f := range of {
		if out[i] = f.word; f.word == "" {
			out[i] = f.Line
		}
	}
	return out
}

// marks are the characters that lines after the first step begin with.
func marks() []string {
	var out []string
	seen := map[byte]bool{}
	for _, part := range [][]Form{doings, claims, commands} {
		for _, f := range part {
			if c := f.Line[0]; c < 'A' && !seen[c] || c > 'Z' && !seen[c] {
				seen[c] = true
				out = append(out, string(c))
			}
		}
	}
	return out
}
