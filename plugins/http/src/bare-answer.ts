import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { envelopeType, failureText, noSniff } from './envelope.ts'
import type { Failure } from './failure.ts'

/** Body and headers of a failure that Fastify never sees. Its connection ends: what follows cannot be told apart. */
function bare({ code, message, data }: Failure) {
  const body = failureText(code, message, data)
  const headers = {
    [noSniff.name]: noSniff.value,
    'content-type': envelopeType,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  return { body, headers }
}

/** Answers a request that Node.js took but whose `Expect` header nobody can meet. */
export function answerBare(response: ServerResponse, failure: Failure): void {
  const { body, headers } = bare(failure)
  response.writeHead(failure.status, headers).end(body)
}

/** Answers what Node.js could not even parse, unless an answer is under way, into which this would be written. */
export function answerConnection(socket: Duplex, failure: Failure): void {
  // The answer under way, as Node.js itself looks it up in its own handler of this event.
  const { _httpMessage: current } = socket as { _httpMessage?: ServerResponse | null }
  if (current?.headersSent) {
    socket.destroy()
    return
  }
  const { body, headers } = bare(failure)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\n${lines.join('')}\r\n${body}`)
}
