/** Conformance kit for disks: the contract of `Disk` as test cases. Needs no test runner. */
import { buffer } from 'node:stream/consumers'
import { type Disk, isFileReplaced } from '@plinth/storage'
import {
  type CaseBodies,
  type ConformanceCase,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectEqual,
  expectThat,
} from './index.ts'

type Awaitable<T> = T | Promise<T>

export interface StorageDiskHarness {
  /** The disk to test. The kit writes only below `conformance/` and deletes these files. */
  readonly disk: Disk
  /** A disk with the same files, as another instance of the product sees them; default: `disk`. */
  readonly other?: Disk
  stop?(): Awaitable<void>
}

/** Paths that disks often confuse. */
const awkwardPaths = [
  'a',
  'a/b/c',
  'ab',
  'a b',
  'ü/ÿ.txt',
  'a+b&c#d',
  '文件.txt',
  `${'x'.repeat(150)}`,
  'a.b..c',
  "!'()@~",
  'a=b;c,d',
  '&amp;',
  '€ 😀.txt',
  '007',
  'null',
  'a  b',
  '[a]{b}^`$',
]
const root = 'conformance'
/** Content with all byte values. A disk that converts text would change some of them. */
/** Object stores return at most 1,000 files in one response. */
const manyFiles = 1_001
/** More than two parts of a multipart upload, and not a multiple of a usual part size. */
const largeBytes = 17 * 1024 * 1024 + 3
const everyByte = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256))

async function* chunksOf(content: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

/**
 * Returns the contract of `Disk` as cases.
 *
 * @param create returns a disk; called for each case. The disks may share files, because each case deletes its own
 *   files
 */
export function storageDiskCases<Harness extends StorageDiskHarness>(
  create: () => Awaitable<Harness>,
  limits: ConformanceLimits = {},
): ConformanceCase[] {
  const { answer, settle } = createCallTimeouts(limits)
  const write = (disk: Disk, path: string, content: Uint8Array) =>
    answer('write', () => disk.write(path, chunksOf(content)))
  const read = (disk: Disk, path: string) =>
    answer('open', async () => {
      const file = await disk.open(path)
      return file === undefined ? undefined : { ...file, content: await buffer(file.content) }
    })
  const pathsIn = (disk: Disk, directory: string) =>
    answer('list', async () => {
      const paths: string[] = []
      for await (const { path } of disk.list(directory)) paths.push(path)
      return paths.sort()
    })
  const deleteAll = async (disk: Disk) => {
    const waiting = await pathsIn(disk, root)
    const deleteNext = async () => {
      for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) await disk.delete(path)
    }
    await Promise.all(Array.from({ length: 20 }, deleteNext))
  }

  const cases: CaseBodies<Harness> = {
    'describes itself and can be used': [
      'See Disk: visibility is "public" or "private", and verify resolves while files can be written.',
      async ({ disk }) => {
        const isKnown = ['public', 'private'].includes(disk.visibility)
        expectThat('visibility is "public" or "private"', isKnown, 'public or private', disk.visibility)
        await answer('verify', () => disk.verify(new AbortController().signal))
      },
    ],

    'files come back as they were': [
      'Store the bytes unchanged, whatever their number, and return the path and size of the file.',
      async ({ disk, other = disk }) => {
        const contents = { small: everyByte, empty: Buffer.alloc(0), large: Buffer.alloc(1_000_000, everyByte) }
        for (const [name, content] of Object.entries(contents)) {
          const path = `${root}/${name}`
          await write(disk, path, content)
          const file = await read(other, path)
          expectThat('A written file can be opened', file !== undefined, 'a file', file)
          expectThat(
            'The content is unchanged',
            file?.content.equals(content) === true,
            `${content.length} bytes`,
            file?.content.length,
          )
          const stat = await answer('stat', () => other.stat(path))
          const facts = [file, stat].map((one) => [one?.path, one?.size, one?.modifiedAt instanceof Date])
          expectEqual('open and stat return path, size and time', facts, [
            [path, content.length, true],
            [path, content.length, true],
          ])
        }
      },
    ],

    'a file that does not exist is undefined': [
      'Return undefined, and false from delete. Do not throw for a missing file.',
      async ({ disk, other = disk }) => {
        const path = `${root}/absent`
        const absent = async (rule: string) => {
          expectEqual(`open: ${rule}`, await answer('open', () => other.open(path)), undefined)
          expectEqual(`stat: ${rule}`, await answer('stat', () => other.stat(path)), undefined)
          expectEqual(`hold: ${rule}`, await answer('hold', async () => other.hold?.(path)), undefined)
          expectEqual(`delete: ${rule}`, await answer('delete', () => other.delete(path)), false)
        }
        await absent('a file that was never written')
        await write(disk, path, everyByte)
        expectEqual('delete returns true if the file existed', await answer('delete', () => disk.delete(path)), true)
        await absent('a deleted file')
        expectEqual('A list does not contain it', await pathsIn(other, root), [])
      },
    ],

    'different paths are different files': [
      'Use the whole path as it is. A directory is a prefix that ends with "/".',
      async ({ disk, other = disk }) => {
        // A file system cannot store a directory and a file with the same name, so each path is in its own directory.
        const paths = awkwardPaths.map((path, index) => `${root}/${index}/${path}`)
        for (const path of paths) await write(disk, path, Buffer.from(path))
        for (const path of paths) {
          expectEqual('Each path has its own content', (await read(other, path))?.content.toString(), path)
        }
        expectEqual('A list contains every file below a directory', await pathsIn(other, root), [...paths].sort())
        expectEqual(
          'The whole disk contains them too',
          (await pathsIn(other, '')).filter((path) => path.startsWith(`${root}/`)),
          [...paths].sort(),
        )
        await write(disk, `${root}/10/z`, everyByte)
        expectEqual(
          'A directory does not contain files of another one whose name begins alike',
          await pathsIn(other, `${root}/1`),
          [paths[1]],
        )
        expectEqual('A directory without files is empty', await pathsIn(other, `${root}/none`), [])
      },
    ],

    'a failed write changes nothing': [
      'Write to a temporary place, and move it to the path when the content is complete. Throw the error of the content.',
      async ({ disk, other = disk }) => {
        const source = new Error('the source of the content failed')
        const failing = async function* () {
          yield everyByte
          throw source
        }
        await write(disk, `${root}/kept`, Buffer.from('old'))
        for (const name of ['kept', 'new']) {
          const settled = await settle(() => disk.write(`${root}/${name}`, failing()))
          expectThat(
            'write throws the error of the content',
            'thrown' in settled && settled.thrown === source,
            source.message,
            settled,
          )
        }
        expectEqual('The old content stays', (await read(other, `${root}/kept`))?.content.toString(), 'old')
        expectEqual('A new file does not exist', await answer('stat', () => other.stat(`${root}/new`)), undefined)
        expectEqual('A list contains no unfinished file', await pathsIn(other, root), [`${root}/kept`])
      },
    ],

    'a replacement is atomic': [
      'Replace the whole file in one step, so that a reader gets the old or the new content.',
      async ({ disk, other = disk }) => {
        const path = `${root}/shared`
        const contents = Array.from({ length: 8 }, (_, index) => Buffer.alloc(200_000, `${index}`))
        const isWhole = (content: Buffer | undefined) => contents.some((one) => content?.equals(one))
        await write(disk, path, contents[0] as Buffer)
        const slow = async function* (content: Buffer) {
          for await (const chunk of chunksOf(content, 50_000)) {
            yield chunk
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        }
        const writing = Promise.all(contents.map((content) => answer('write', () => disk.write(path, slow(content)))))
        // If a check fails first, nobody waits for the writes.
        writing.catch(() => {})
        for (let round = 0; round < 5; round++) {
          const seen = (await read(other, path))?.content
          expectThat('A reader gets a whole content while others write', isWhole(seen), 'one content', seen?.length)
        }
        await writing
        expectThat('One of the contents stays', isWhole((await read(other, path))?.content), 'one content', 'a mixture')
      },
    ],

    'a held file is one content': [
      'Keep the file open, or read a version of it, or throw fileReplaced(). The version changes with the content.',
      async ({ disk, other = disk }) => {
        if (other.hold === undefined) return
        const path = `${root}/held`
        await write(disk, path, Buffer.from('0123456789'))
        const hold = async () => {
          const held = await answer('hold', async () => other.hold?.(path))
          expectThat('An existing file can be held', held !== undefined, 'a file', held)
          return held as NonNullable<typeof held>
        }
        const first = await hold()
        expectThat(
          'The version is 1 to 128 characters',
          /^[A-Za-z0-9._-]{1,128}$/.test(first.version),
          'A-Z a-z 0-9 . _ -',
          first.version,
        )
        const unchanged = await answer('read', () => buffer(first.read({ start: 2, end: 4 })))
        expectEqual('Both ends of a part are included', unchanged.toString(), '234')
        const old = await hold()
        await write(disk, path, Buffer.from('other content'))
        const part = await settle(() => buffer(old.read({ start: 2, end: 4 })))
        const isOld =
          'value' in part ? part.value.toString() === '234' : 'thrown' in part && isFileReplaced(part.thrown)
        expectThat('After a replacement, a part has the old content or fails', isOld, '"234" or fileReplaced()', part)
        const second = await hold()
        expectThat(
          'The version changes with the content',
          second.version !== first.version,
          'another version',
          second.version,
        )
        await answer('close', () => second.close())
      },
    ],

    'parts of a file are exact': [
      'Both positions of a range are zero-based and inclusive.',
      async ({ disk, other = disk }) => {
        if (other.hold === undefined) return
        const path = `${root}/parts`
        const content = Buffer.alloc(200_000, everyByte)
        await write(disk, path, content)
        const last = content.length - 1
        for (const [start, end] of [
          [0, 0],
          [0, last],
          [last, last],
          [65_535, 131_072],
          [7, last],
        ] as const) {
          const held = await answer('hold', async () => other.hold?.(path))
          const part = await answer('read', async () => held && buffer(held.read({ start, end })))
          const isExact = part?.equals(content.subarray(start, end + 1)) === true
          expectThat(`The part ${start}-${end} is exact`, isExact, `${end - start + 1} bytes`, part?.length)
        }
      },
    ],

    'a large file comes back as it was': [
      'Send large content in parts, and put the parts together in their order.',
      async ({ disk, other = disk }) => {
        const path = `${root}/large`
        const content = Buffer.alloc(largeBytes, everyByte)
        // Each part differs, so that exchanged parts are noticed.
        for (let at = 0; at + 8 < content.length; at += 65_536) content.writeDoubleBE(at, at)
        await write(disk, path, content)
        const file = await read(other, path)
        expectThat(
          'The content is unchanged',
          file?.content.equals(content) === true,
          `${largeBytes} bytes`,
          file?.size,
        )
      },
    ],

    'a list contains all files': [
      'Continue the list until the server has no more pages.',
      async ({ disk, other = disk }) => {
        const paths = Array.from({ length: manyFiles }, (_, index) => `${root}/many/${index}`).sort()
        const waiting = [...paths]
        const writeNext = async () => {
          for (let path = waiting.pop(); path !== undefined; path = waiting.pop())
            await write(disk, path, Buffer.alloc(1))
        }
        await Promise.all(Array.from({ length: 20 }, writeNext))
        const listed = await pathsIn(other, `${root}/many`)
        expectThat(
          `A list contains ${manyFiles} files`,
          listed.length === manyFiles && listed.every((path, index) => path === paths[index]),
          `${manyFiles} files`,
          listed.length,
        )
      },
    ],

    'a new file does not replace another one': [
      'Let create decide in one step whether the file exists, and return false if it does.',
      async ({ disk, other = disk }) => {
        if (disk.create === undefined || other.create === undefined) return
        const path = `${root}/created`
        const create = (one: Disk, text: string) =>
          answer('create', async () => one.create?.(path, chunksOf(Buffer.from(text))))
        expectEqual('create returns true if the file did not exist', await create(disk, 'first'), true)
        expectEqual('create returns false if the file exists', await create(other, 'second'), false)
        expectEqual('The existing content stays', (await read(other, path))?.content.toString(), 'first')
      },
    ],

    'waits end with their signal': [
      'Pass the signal to every request and wait. sweep removes only files that no writer will finish.',
      async ({ disk, other = disk }) => {
        await write(disk, `${root}/finished`, everyByte)
        const aborted = AbortSignal.abort(new Error('The product stops'))
        const ends = {
          verify: await settle(() => disk.verify(aborted)),
          sweep: await settle(() => disk.sweep?.(aborted)),
        }
        for (const [name, settled] of Object.entries(ends))
          expectThat(`${name} ends with an aborted signal`, !('hanging' in settled), 'an end', 'none')
        await answer('sweep', async () => disk.sweep?.(new AbortController().signal))
        expectEqual('sweep removes no finished file', await pathsIn(other, root), [`${root}/finished`])
      },
    ],
  }
  const cleaned: CaseBodies<Harness> = Object.fromEntries(
    Object.entries(cases).map(([name, [advice, check]]) => [
      name,
      [
        advice,
        async (harness: Harness) => {
          try {
            await check(harness)
          } finally {
            await deleteAll(harness.disk).catch(() => undefined)
          }
        },
      ] as const,
    ]),
  )
  return createCases(create, cleaned, limits)
}
