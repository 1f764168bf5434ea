// Plain JavaScript without dependencies: any Node.js version from 18 must be able to load it.

/**
 * Checks a Node.js version against the versions that the kernel supports.
 *
 * @param {string} found such as `20.20.2`
 * @param {string} range `engines.node` of the kernel, `>=24.7`
 * @returns {{ needed: string, found: string } | undefined} the first supported version and the given one, when it is too old
 */
export function oldNodeVersion(found, range) {
  const needed = range.replace('>=', '')
  const numbers = (version) => version.split('.').map((part) => Number.parseInt(part, 10))
  const [major, minor] = numbers(found)
  const [neededMajor, neededMinor = 0] = numbers(needed)
  const isSupported = major > neededMajor || (major === neededMajor && minor >= neededMinor)
  return isSupported ? undefined : { needed, found }
}
