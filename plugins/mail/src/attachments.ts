import { Readable } from 'node:stream'
import { type Clock, isBusinessError, withinDeadline } from '@plinth/kernel'
import type { OpenFile, Storage } from '@plinth/storage'
import type { MailAttachment, MailDelivery } from './contract.ts'

/** Limits of the files of one mail; sizes in bytes. */
export interface AttachmentLimits {
  readonly maxCount: number
  readonly maxBytes: number
  readonly maxTotalBytes: number
  /** Media types such as `text/html`, and endings of names such as `.exe`, in lower case. */
  readonly refused: readonly string[]
}

/** The outcome of a mail whose file cannot be sent. The server has not accepted such a mail. */
export class AttachmentFailure extends Error {
  override readonly name = 'AttachmentFailure'
  readonly delivery: Omit<MailDelivery, 'address'>

  constructor(outcome: 'rejected' | 'deferred', code: string, errorMessage: string) {
    super(errorMessage)
    this.delivery = { outcome, errorCode: `mail.attachment-${code}`, errorMessage }
  }
}

/** An attachment that was checked. */
export interface CheckedAttachment {
  readonly filename: string
  readonly contentType: string
  readonly cid?: string
  readonly size: number
  /** Returns the bytes. The file is opened when the stream is read. */
  open(): Readable
}

/** Maximum time in milliseconds until a disk returns the next bytes. */
const stallMs = 5_000
const maxNameLength = 200
const typePattern = /^[\w.+-]{1,63}\/[\w.+-]{1,63}$/
/** RFC 2392 allows more characters, but HTML would have to encode them. */
const contentIdPattern = /^[\w.-]{1,64}$/

/** Returns a name without path, control and format characters. Format characters can reverse the order of letters. */
export function safeName(name: string): string {
  const [last = ''] = name.normalize('NFC').split(/[/\\]/).slice(-1)
  const safe = last.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ').trim()
  return [...safe.replace(/^\.+/, '')].slice(-maxNameLength).join('') || 'attachment'
}

interface AttachmentDependencies {
  /** Undefined in a product without files. */
  readonly storage: Pick<Storage, 'stat' | 'open'> | undefined
  readonly clock: Clock
  readonly limits: AttachmentLimits
}

/**
 * Checks the files of a mail before anything is sent: number, names, types, existence and sizes.
 *
 * @throws AttachmentFailure that names the file and the rule
 */
export async function checkAttachments(
  attachments: readonly MailAttachment[],
  dependencies: AttachmentDependencies,
): Promise<readonly CheckedAttachment[]> {
  if (attachments.length === 0) return []
  const { maxCount, maxTotalBytes } = dependencies.limits
  if (attachments.length > maxCount) {
    throw new AttachmentFailure(
      'rejected',
      'too-many',
      `The mail has ${attachments.length} files; the limit is ${maxCount}`,
    )
  }
  const { detectMimeType } = await import('nodemailer/lib/mime-funcs')
  const checked = await Promise.all(attachments.map((one) => checkAttachment(one, dependencies, detectMimeType)))
  const ids = checked.flatMap(({ cid }) => cid ?? [])
  const twice = ids.find((cid, index) => ids.indexOf(cid) !== index)
  if (twice !== undefined)
    throw new AttachmentFailure('rejected', 'invalid', `Two files have the content id "${twice}"`)
  const total = checked.reduce((sum, { size }) => sum + size, 0)
  if (total > maxTotalBytes) {
    const names = checked.map(({ filename }) => filename).join(', ')
    throw new AttachmentFailure(
      'rejected',
      'too-large',
      `The files have ${total} bytes; the limit is ${maxTotalBytes}: ${names}`,
    )
  }
  return checked
}

async function checkAttachment(
  { name, disk, path, contentType, contentId }: MailAttachment,
  { storage, clock, limits }: AttachmentDependencies,
  typeOf: (name: string) => string,
): Promise<CheckedAttachment> {
  const rejected = (code: string, text: string) => new AttachmentFailure('rejected', code, `"${filename}" ${text}`)
  const filename = safeName(String(name))
  const type = (contentType ?? typeOf(filename)).toLowerCase().replace(/;.*$/, '').trim()
  if (typeof disk !== 'string' || typeof path !== 'string') throw rejected('invalid', 'has no disk and path')
  if (!typePattern.test(type)) throw rejected('invalid', 'has no valid media type')
  if (contentId !== undefined && !contentIdPattern.test(contentId)) throw rejected('invalid', 'has no valid content id')
  const lower = filename.toLowerCase()
  const refused = limits.refused.find((rule) => (rule.startsWith('.') ? lower.endsWith(rule) : type === rule))
  if (refused !== undefined) throw rejected('refused', `is not sent: files of the kind ${refused} are refused`)
  if (storage === undefined) throw rejected('missing', 'is not sent: the product has no files')
  /** Limits the time of one step, and converts its error. */
  const step: Step = (work) =>
    withinDeadline(clock, stallMs, work, () => stalled(filename)).catch((error: unknown) => {
      throw failureOf(error, filename)
    })
  const size = (await step(() => storage.stat(disk, path)))?.size
  if (size === undefined) throw rejected('missing', 'does not exist')
  if (size > limits.maxBytes) throw rejected('too-large', `has ${size} bytes; the limit is ${limits.maxBytes}`)
  const changed = () => new AttachmentFailure('deferred', 'unavailable', `"${filename}" changed while it was sent`)
  const bytes = () => bytesOf(() => storage.open(disk, path), size, step, changed)
  const id = contentId === undefined ? {} : { cid: contentId }
  return { filename, contentType: type, ...id, size, open: () => Readable.from(bytes(), { objectMode: false }) }
}

type Step = <T>(work: () => Promise<T>) => Promise<T>

/** Reads a file. @param size bytes that the file had when it was checked */
async function* bytesOf(
  open: () => Promise<OpenFile>,
  size: number,
  step: Step,
  changed: () => Error,
): AsyncGenerator<Buffer> {
  const { content } = await step(open)
  let read = 0
  try {
    const chunks: AsyncIterator<Buffer> = content[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await step(() => chunks.next())
      if (done === true) break
      read += value.length
      if (read > size) break
      yield value
    }
  } finally {
    content.destroy()
  }
  if (read !== size) throw changed()
}

const stalled = (name: string) =>
  new AttachmentFailure('deferred', 'unavailable', `"${name}" could not be read: no bytes within ${stallMs} ms`)

function failureOf(error: unknown, name: string): Error {
  if (error instanceof AttachmentFailure) return error
  if (isBusinessError(error) && (error.code === '404' || error.code === '400')) {
    return new AttachmentFailure('rejected', 'missing', `"${name}" does not exist`)
  }
  return new AttachmentFailure('deferred', 'unavailable', `"${name}" could not be read`)
}
