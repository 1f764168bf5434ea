/**
 * The environment of a program that a test starts: nothing of this machine's but where programs lie, how the test itself
 * runs Node.js, and what was compiled before, without which each start compiles all sources anew.
 */
export function programEnvironment(own: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE'].filter((name) => process.env[name] !== undefined)
  return { ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])), ...own }
}
