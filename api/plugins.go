package api

// OraclePlugin is a plugin that extends the oracle of this server.
type OraclePlugin struct {
	Name       string          `json:"name" example:"weather"`
	Version    string          `json:"version,omitzero" example:"1.0.0"`
	Title      string          `json:"title" example:"Weather"`
	Summary    string          `json:"summary" doc:"What it is for, in one sentence." example:"Says how the weather is in a city."`
	WhenToUse  []string        `json:"whenToUse,omitempty" doc:"What the model is told it is good for."`
	Tags       []string        `json:"tags,omitempty"`
	Visibility string          `json:"visibility" doc:"When the model has its tools: always; on-demand, once it has loaded them; silent, never." enum:"always,on-demand,silent" example:"on-demand"`
	Stability  string          `json:"stability" doc:"How much it may still change." enum:"stable,beta,experimental" example:"stable"`
	Needs      []string        `json:"needs,omitempty" doc:"Plugins that it needs."`
	Tools      []PluginTool    `json:"tools" doc:"Those that everybody has."`
	Agents     []PluginAgent   `json:"agents" doc:"Its sub-agents."`
	OwnTools   bool            `json:"ownTools" doc:"Some of its tools depend on who asks; they are not listed."`
	Routes     []PluginRoute   `json:"routes"`
	Events     []string        `json:"events,omitempty" doc:"Events that it sends to pages of a conversation."`
	Settings   []PluginSetting `json:"settings"`
}

// PluginTool is a tool of a plugin.
type PluginTool struct {
	Name        string `json:"name" example:"get_weather"`
	Description string `json:"description" doc:"What models read about it."`
	ReadOnly    bool   `json:"readOnly" doc:"It changes nothing. Any other tool runs when its user has granted it or confirms the call."`
}

// PluginAgent is a sub-agent of a plugin, which models call as call_<name>_agent.
type PluginAgent struct {
	Name        string       `json:"name" example:"stove-care"`
	Description string       `json:"description" doc:"What models read about it."`
	Tools       []PluginTool `json:"tools" doc:"Tools that it alone has."`
}

// PluginRoute is a route of a plugin.
type PluginRoute struct {
	Method  string `json:"method" example:"GET"`
	Path    string `json:"path" example:"/weather/now"`
	Summary string `json:"summary"`
	Public  bool   `json:"public" doc:"It is open to everybody, and knows nobody."`
}

// PluginSetting is an option of a plugin that an operator can set.
type PluginSetting struct {
	Name    string `json:"name" doc:"Its name under plugins.<plugin> in the file." example:"source"`
	Kind    string `json:"kind" enum:"text,integer,boolean,duration,URL,list" example:"text"`
	Value   string `json:"value,omitzero" doc:"What holds now. Only callers with operations:read see it, and nobody that of a secret."`
	Default string `json:"default,omitzero" example:"none"`
	Secret  bool   `json:"secret"`
	About   string `json:"about,omitzero"`
}
