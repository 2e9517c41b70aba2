package plugin

import "time"

// Agents is a plugin with sub-agents: agents with instructions, tools and a
// budget of their own. The model calls one like a tool, by the name
// call_<name>_agent, with a task in words; the agent's final answer is the
// output of that call. A sub-agent knows its task and nothing else of the
// conversation, and its words reach the user only through the model that called
// it.
type Agents interface {
	Agents() []Agent
}

// Agent is a sub-agent. It acts for the user of the conversation, with the user's
// rights: a tool that changes something asks the user, as it does outside an
// agent. Agents that call each other do so at most three deep.
type Agent struct {
	Name        string // lower-case words with hyphens between them, at most 40 characters: "stove-care"
	Description string // tells the model what the agent is good at, and what its task must say
	Prompt      string // tells the agent what it is
	Tools       []Tool // its own, which no other agent has; their names are unique in the server
	// Uses are names of other tools of the server that the agent may call, such as
	// search_twins or call_<name>_agent. Those that the user is not offered are left
	// out.
	Uses  []string
	Model string // id of a model; empty: that of the conversation

	// The budget of one task. When it is used up, the agent answers with what it has.
	Rounds int           // answers of its model; 10
	Calls  int           // calls of its tools; 25
	Tokens int           // of all its answers and what they are made of; 100,000
	Time   time.Duration // without the time in which the user is asked; 2 minutes, at most 10
}
