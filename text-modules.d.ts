/** Files that are built in as their text: `import text from "./x.sh" with { type: "text" }`. */
declare module "*.py" {
  const text: string;
  export default text;
}
declare module "*.sh" {
  const text: string;
  export default text;
}
declare module "*.css" {
  const text: string;
  export default text;
}
