import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { envelopeType, failureText, noSniff } from '../envelope.ts'
import type { Failure } from '../failure.ts'
import { STATUS_CODES } from './node-http.ts'

/** Body and headers of a failure that Fastify never sees. */
export function bareAnswer({ status, code, message, data }: Failure) {
  // Text, which Node.js sends together with the headers in one call of the system; bytes would take two parts.
  const body = failureText(code, message, data)
  const length = Buffer.byteLength(body)
  const headers = { [noSniff.name]: noSniff.value, 'content-type': envelopeType, 'content-length': length }
  return { status, headers, body }
}

/** Its connection ends: what follows cannot be told apart. */
function last(failure: Failure) {
  const { status, headers, body } = bareAnswer(failure)
  return { status, headers: { ...headers, connection: 'close' }, body }
}

/** Answers a request that Node.js took but whose `Expect` header nobody can meet. */
export function answerBare(response: ServerResponse, failure: Failure): void {
  const { status, headers, body } = last(failure)
  response.writeHead(status, headers).end(body)
}

/** Answers what Node.js could not even parse, unless an answer is under way, into which this would be written. */
export function answerConnection(socket: Duplex, failure: Failure): void {
  // The answer under way, as Node.js itself looks it up in its own handler of this event.
  const { _httpMessage: current } = socket as { _httpMessage?: ServerResponse | null }
  if (current?.headersSent) {
    socket.destroy()
    return
  }
  const { status, headers, body } = last(failure)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
