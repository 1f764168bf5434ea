import { refusal } from './failures.ts'

/** Bytes in UTF-8. */
const longestPath = 512
const longestSegment = 200

/** Separators and wildcards of some system; a percent sign might be decoded once more on the way. */
const forbiddenCharacter = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\\:*?"<>|%]/u
/** Hidden names are for the disk itself; trailing dots and blanks vanish on Windows. */
const awkwardEdge = /^[.\s]|[.\s]$/u
/** Devices, with whatever extension. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\.|$)/iu

/** The rules of paths, each with what breaks it; the first that is broken is told. */
const rules = {
  'wrong-length': (path) => path === '' || Buffer.byteLength(path) > longestPath,
  'wrong-character': (path) => forbiddenCharacter.test(path) || path.normalize('NFC') !== path,
  'wrong-segment': (path) => path.split('/').some((segment) => segment === '' || awkwardEdge.test(segment)),
  'segment-too-long': (path) => path.split('/').some((segment) => Buffer.byteLength(segment) > longestSegment),
  'device-name': (path) => path.split('/').some((segment) => deviceName.test(segment)),
} as const satisfies Record<string, (path: string) => boolean>

export type PathRule = keyof typeof rules

/** The rule that a path breaks, or `undefined` when it can be the path of a file on any disk. */
export function pathFault(path: string): PathRule | undefined {
  return (Object.keys(rules) as PathRule[]).find((rule) => rules[rule](path))
}

/** @throws BusinessError "400" `storage.path-invalid` */
export function assertPath(path: string): void {
  const fault = pathFault(path)
  if (fault !== undefined) throw refusal('path-invalid', { text: `path-invalid.${fault}`, data: { rule: fault } })
}
