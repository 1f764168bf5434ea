import { refusal } from './failures.ts'

/** Bytes in UTF-8. */
const longestPath = 512
const longestSegment = 200

/** Separators and wildcards of some operating system. A percent sign could be decoded again on the way. */
const forbiddenCharacter = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\\:*?"<>|%]/u
/** Names with a leading dot are reserved for the disk. Windows removes trailing dots and blanks. */
const awkwardEdge = /^[.\s]|[.\s]$/u
/** Device names of Windows, with any extension. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\.|$)/iu

/** The rules of paths, each with a predicate that detects a violation. The first violation is reported. */
const rules = {
  'wrong-length': (path) => path === '' || Buffer.byteLength(path) > longestPath,
  'wrong-character': (path) => forbiddenCharacter.test(path) || path.normalize('NFC') !== path,
  'wrong-segment': (path) => path.split('/').some((segment) => segment === '' || awkwardEdge.test(segment)),
  'segment-too-long': (path) => path.split('/').some((segment) => Buffer.byteLength(segment) > longestSegment),
  'device-name': (path) => path.split('/').some((segment) => deviceName.test(segment)),
} as const satisfies Record<string, (path: string) => boolean>

export type PathRule = keyof typeof rules

/** Returns the rule that a path violates, or undefined if the path is valid on every disk. */
export function pathFault(path: string): PathRule | undefined {
  return (Object.keys(rules) as PathRule[]).find((rule) => rules[rule](path))
}

/** @throws BusinessError "400" `storage.path-invalid` */
export function assertPath(path: string): void {
  const fault = pathFault(path)
  if (fault !== undefined) throw refusal('path-invalid', { text: `path-invalid.${fault}`, data: { rule: fault } })
}
