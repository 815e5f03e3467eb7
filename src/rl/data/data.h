/* Conversations for SFT, read from JSON lines. A line is a trajectory (`kgym.trajectory/1`,
 * docs/trajectory.md) or chat messages: {"messages": [{"role": ..., "content": ...}]}. A reply's
 * `reasoning_content` becomes part of its text; what tools are for is refused.
 *
 * A conversation is: perhaps a system message, then user and assistant in turn, from a user to an
 * assistant. Of a trajectory it is kept if a turn is correct. Its failing turns stay, as context;
 * which replies train is `turns`. Never trained: a reply that was cut at its greatest length, and
 * one without a verdict. What follows the last trained reply is dropped.
 *
 * Not thread safe. Memory: the texts, and 40 bytes a message. */
#ifndef KG_RL_DATA_DATA_H
#define KG_RL_DATA_DATA_H

#include "base/buf.h"
#include "lm/tok/chat.h"

enum rl_data_turns {
    RL_DATA_ALL,       /* every reply */
    RL_DATA_IMPROVING, /* those that are correct and faster than all correct ones before them */
};

#define RL_DATA_LINE (4u << 20) /* most bytes of a line */

struct rl_message {
    enum lm_chat_role role;
    size_t at, len; /* in rl_data.text */
    bool trained;   /* an assistant's: the loss counts it */
};

struct rl_conversation {
    size_t first, n;  /* of its messages */
    uint64_t problem; /* the first 8 bytes of its hash: of the problem file, or of the first user
                         message where the line names no problem */
};

struct rl_data_counts {
    uint64_t lines, chats, trajectories;
    uint64_t unsolved;           /* trajectories without a correct turn: left out */
    uint64_t defective;          /* whose problem is at fault: left out */
    uint64_t replies, untrained; /* of what is kept */
};

struct rl_data {
    enum rl_data_turns turns;
    struct kg_buf text;
    struct rl_message *message;
    size_t n_messages, message_cap;
    struct rl_conversation *conversation;
    size_t n, cap;
    struct rl_data_counts counts;
    char
        thought[400]; /* "FILE:LINE: message N" of the first reply with a thought apart; "": none */
};

void rl_data_init(struct rl_data *d, enum rl_data_turns turns);
void rl_data_deinit(struct rl_data *d);

/* One line; source is "FILE:LINE", for messages. A blank line is nothing. Errors: KG_E_INPUT (no
 * JSON, neither form, a member that is missing or of another type, roles out of order), KG_E_LIMIT
 * (too long), KG_E_HOST (memory). On an error the data are as before the line. */
enum kg_code rl_data_line(struct rl_data *d, const char *line, size_t len, const char *source,
                          struct kg_err *err) KG_MUST_USE;
/* A whole file, "-" is standard input. Errors: as above, those of kg_file_read(), and KG_E_INPUT
 * for a file without a line. */
enum kg_code rl_data_file(struct rl_data *d, const char *path, struct kg_err *err) KG_MUST_USE;

/* The key of a problem from its hash, 64 digits in hexadecimal. False: it is none. */
bool rl_data_key(const char *hex, uint64_t *key);
/* The key of a text. */
uint64_t rl_data_key_of(const char *text, size_t len);

#endif
