// Run by npm around `npm pack` in a workspace: "on" points package.json at the build (JavaScript and .d.ts),
// "off" points it back at the TypeScript sources, which is what runs inside this repository.
import { readFileSync, writeFileSync } from 'node:fs'

const rules = {
  on: [
    [/"types": "\.\/src\/(.+?)\.ts"/g, '"types": "./dist/$1.d.ts"'],
    [/"default": "\.\/src\/(.+?)\.ts"/g, '"default": "./dist/$1.js"'],
  ],
  off: [
    [/"types": "\.\/dist\/(.+?)\.d\.ts"/g, '"types": "./src/$1.ts"'],
    [/"default": "\.\/dist\/(.+?)\.js"/g, '"default": "./src/$1.ts"'],
  ],
}
const direction = process.argv[2]
if (!(direction in rules)) throw new Error('usage: pack-exports.mjs on|off')
const text = readFileSync('package.json', 'utf8')
writeFileSync(
  'package.json',
  rules[direction].reduce((out, [from, to]) => out.replace(from, to), text),
)
