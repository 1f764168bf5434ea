// Written in plain JavaScript without dependencies, so that each Node.js version from 18 can load it.

/**
 * Compares a Node.js version with the range that the kernel supports.
 *
 * @param {string} found version such as `20.20.2`
 * @param {string} range `engines.node` of the kernel, such as `>=24.7`
 * @returns {{ needed: string, found: string } | undefined} the first supported version and the given one, if the given
 * one is too old
 */
export function oldNodeVersion(found, range) {
  const needed = range.replace('>=', '')
  const numbers = (version) => version.split('.').map((part) => Number.parseInt(part, 10))
  const [major, minor] = numbers(found)
  const [neededMajor, neededMinor = 0] = numbers(needed)
  const isSupported = major > neededMajor || (major === neededMajor && minor >= neededMinor)
  return isSupported ? undefined : { needed, found }
}
