package lookup

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Talk is an interview with its answers.
type Talk struct {
	Survey    string `json:"survey"`
	Household string `json:"household"` // "": that of the user
	Language  string `json:"language"`
	Question  string `json:"question"`
	Answer    string `json:"answer"`
	Instead   string `json:"instead"`
	Answers   []Said `json:"answers"`
}

// Said is a question, its text, and the answer.
type Said struct {
	Question string `json:"question"`
	Text     string `json:"text"`
	Answer   string `json:"answer"`
}

// Interviews are surveys that the oracle asks. Everything is done as the user of
// the run, who answers for their own household or collects for the survey.
type Interviews interface {
	Begin(ctx context.Context, t Talk) (any, error)
	Answer(ctx context.Context, t Talk) (any, error)
	Review(ctx context.Context, t Talk) (any, error)
	// Submit sends an interview if its answers are exactly those of t.
	Submit(ctx context.Context, t Talk) (any, error)
}

const (
	whichTalk = `"survey":` + text + `,"description":"Id of the survey."},"household":` + text + `,"description":"DID of the household, for collectors; the user's own when absent."},` +
		`"language":` + text + `,"description":"Language of the interview, such as en or sw; en when absent."}`
	turned = given + `"required":["how"],"properties":{"how":{"type":"string"},"next":{"type":"object"},"answered":{"type":"integer"},"left":{"type":"integer"},"answers":{"type":"array","items":{"type":"object"}}}}`
)

// interviewTools ask a survey in words. What was answered is kept in a draft that
// only the user reads; nothing is a response before interview_submit, whose
// arguments are all the answers: the question whether it may run shows them.
var interviewTools = []lookupTool{
	{
		name: "interview_begin", do: talked(Interviews.Begin), drafts: true,
		about:  "Begin a survey interview with the user, or go on with it. Gives the question to ask next. Ask the user that question in its own words, one at a time, and never answer it yourself.",
		schema: object + `"required":["survey"],"properties":{` + whichTalk + `}}`, output: turned,
	},
	{
		name: "interview_answer", do: talked(Interviews.Answer), drafts: true,
		about: "Keep what the user has just answered to a question of the interview, in the user's own words or the number of an option, and get the next question. Only what the user has said in this conversation: when it is unclear, ask again. An answer that is not taken comes back with the problem.",
		schema: object + `"required":["survey","question"],"properties":{` + whichTalk + `,"question":` + text + `,"description":"question of what is asked, such as /kitchen/fuel."},"answer":` + text + `,"description":"What the user said."},` +
			`"instead":{"type":"string","enum":["skip","dont_know","refused"],"description":"When the user does not answer: skips the question, does not know, or would rather not say."}}}`,
		output: turned,
	},
	{
		name: "interview_review", do: talked(Interviews.Review),
		about:  "Show all that was answered in the interview. Read it to the user before it is sent.",
		schema: object + `"required":["survey"],"properties":{` + whichTalk + `}}`, output: turned,
	},
	{
		name: "interview_submit", do: talked(Interviews.Submit), writes: true,
		about: "Send the interview, with exactly the answers that interview_review gives. The user is asked first and sees them.",
		schema: object + `"required":["survey","answers"],"properties":{` + whichTalk + `,"answers":{"type":"array","maxItems":1000,"items":` + object +
			`"required":["question","text","answer"],"properties":{"question":` + text + `},"text":` + text + `,"description":"The words of the question."},"answer":` + text + `}}}}}}`,
		output: turned,
	},
}

// talked reads the arguments of a tool of interviews.
func talked(do func(Interviews, context.Context, Talk) (any, error)) func(context.Context, Source, jsontext.Value) (any, error) {
	return func(ctx context.Context, s Source, args jsontext.Value) (any, error) {
		t := Talk{}
		if err := json.Unmarshal(args, &t); err != nil {
			return nil, err
		}
		if t.Language == "" {
			t.Language = "en"
		}
		return do(s.Interviews, ctx, t)
	}
}
