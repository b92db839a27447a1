package topics

// TopicOf is for facts that no broker in memory shows.
var TopicOf = topicOf
